import AlbumModel
import AlbumStore
import ControlProtocol
import Posix

/// Records how far the history of a space went when it was last mounted with `--remember` on this machine. A
/// store that was replaced by an older state of itself cannot show that, but a record outside can.
///
/// Each space has one file in the user's state directory: a line with the number of the last frame and the
/// seconds since 1970 when it was written. Its name derives from the keys of the space and reveals nothing
/// without them. The file itself reveals that this user mounts some space.
struct SeenHistory {
  private let directory: String
  private let name: String

  init(directory: String, of space: Space) {
    self.directory = directory
    name = space.memoryName
  }

  /// The frames that the record has and the history of a space lacks.
  struct Shortfall {
    var frames: UInt64
    /// When the last of these frames was written, in seconds since 1970.
    var until: Int64
  }

  /// A sentence for the user who mounts, if the history lacks something or the record shows nothing.
  func warning(of space: Space) -> String? {
    switch read() {
    case .none: nil
    case .unreadable(let reason): unreadableSentence(reason)
    case .seen(let frame, let seconds):
      frame > space.historyEnd.frame
        ? Shortfall(frames: frame - space.historyEnd.frame, until: seconds).sentence : nil
    }
  }

  private func unreadableSentence(_ reason: String) -> String {
    "What was seen of this store here before is not known, so nothing shows whether it was replaced by an "
      + "older state of itself: \(directory)/\(name) \(reason). Remove it to start again."
  }

  /// Records the end of history, unless the record goes further. Leaves a record alone that shows nothing.
  /// Throws the error of the disk.
  func remember(_ end: Space.HistoryEnd) throws(Errno) {
    switch read() {
    case .unreadable: return
    case .seen(let frame, _) where frame >= end.frame: return
    case .none, .seen: break
    }
    try PosixDirectory(path: directory)
      .replaceFile(name, by: Array("\(end.frame) \(end.time.seconds)\n".utf8))
  }

  private enum Record {
    case none
    case unreadable(String)
    case seen(frame: UInt64, seconds: Int64)
  }

  private func read() -> Record {
    let bytes: [UInt8]
    do throws(Errno) {
      bytes = try PosixDirectory(path: directory).contents(of: name, limit: 100)
    } catch {
      return error == .noEntry ? .none : .unreadable("cannot be read (\(error))")
    }
    let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard words.count == 2, let frame = UInt64(words[0]), let seconds = Int64(words[1]) else {
      return .unreadable("is no record of albumfs")
    }
    return .seen(frame: frame, seconds: seconds)
  }
}
