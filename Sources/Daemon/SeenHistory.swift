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

  /// nil if the history lacks nothing.
  func shortfall(of space: Space) -> Shortfall? {
    guard let seen = read(), seen.frame > space.historyEnd.frame else { return nil }
    return Shortfall(frames: seen.frame - space.historyEnd.frame, until: seen.seconds)
  }

  /// Records the end of history, unless the record goes further. Throws the error of the disk.
  func remember(_ end: Space.HistoryEnd) throws(Errno) {
    if let seen = read(), seen.frame >= end.frame { return }
    try PosixDirectory(path: directory)
      .replaceFile(name, by: Array("\(end.frame) \(end.time.seconds)\n".utf8))
  }

  private func read() -> (frame: UInt64, seconds: Int64)? {
    guard let place = try? PosixDirectory(path: directory),
      let bytes = try? place.contents(of: name, limit: 100)
    else { return nil }
    let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard words.count == 2, let frame = UInt64(words[0]), let seconds = Int64(words[1]) else {
      return nil
    }
    return (frame, seconds)
  }
}
