import AlbumModel
import Posix

/// The files that were uploaded a moment ago, which the index may not know yet. Any thread.
final class RecentUploads: Sendable {
  private struct Entry {
    var name: FileName
    var album: UInt64
    var size: Int64
  }

  private let entries = Mutex<[Entry]>([], rank: .leaf)
  private static let limit = 1024

  func add(_ name: FileName, in album: UInt64, size: Int64) {
    entries.withLock { entries in
      entries.append(Entry(name: name, album: album, size: size))
      if entries.count > RecentUploads.limit { entries.removeFirst(RecentUploads.limit / 2) }
    }
  }

  func names(in album: UInt64, size: Int64) -> [FileName] {
    entries.withLock { entries in
      entries.filter { $0.album == album && $0.size == size }.map(\.name)
    }
  }
}
