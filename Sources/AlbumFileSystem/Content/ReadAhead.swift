import AlbumModel
import AlbumStore
import Posix

/// Decides how much of a file to load before it is read, where each part is a request to a server. A program
/// that reads on from the beginning gets a photo as a whole, in parallel; one that looks at the head of a
/// file gets no more.
struct ReadAhead {
  /// A shorter file is loaded to its end.
  static let wholeFile: Int64 = 16 << 20
  /// Of a longer one, so much is loaded ahead.
  static let window: Int64 = 8 << 20

  /// Where the last read ended.
  private var end: Int64 = 0
  /// The end of the bytes that were loaded ahead.
  private var loaded: Int64 = 0

  /// Takes over a read. Returns what to load now.
  mutating func read(_ range: Range<Int64>, size: Int64) -> Range<Int64>? {
    let goesOn = range.lowerBound > 0 && range.lowerBound == end
    end = range.upperBound
    if !goesOn {
      loaded = 0
      return nil
    }
    let from = max(loaded, range.upperBound)
    // Half of the window is left.
    if loaded - range.upperBound > ReadAhead.window / 2 { return nil }
    let target = size <= ReadAhead.wholeFile ? size : range.upperBound + ReadAhead.window
    let to = min(size, target)
    if to <= from { return nil }
    loaded = to
    return from..<to
  }
}

extension FileContent {
  /// Loads what a program that reads on will read next.
  func readAhead(_ range: Range<Int64>) {
    if !space.readsFromServer { return }
    let size = space.follows ? followedSize : monitor.withLock { $0.size }
    guard let next = ahead.withLock({ $0.read(range, size: size) }) else { return }
    let (from, to) = (next.lowerBound, next.upperBound)
    space.loadAhead(space.extents(from: from, to: to, of: { place(in: $0) }) ?? [])
  }
}
