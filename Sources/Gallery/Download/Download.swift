import Posix

/// Names by inodes what a page downloads.
enum Download: Sendable {
  /// The file itself.
  case photo(UInt64)
  /// A zip file with these groups.
  case photos([[UInt64]])
  /// A zip file with the albums below it, too.
  case album(UInt64)
}

/// The latest choices of a session by their ids. A browser may ask for one more than once. Any thread.
final class DownloadTable: Sendable {
  private let downloads = Mutex<[(id: String, what: Download)]>([], rank: .leaf)
  private static let limit = 16

  func add(_ download: Download) -> String {
    let id = RandomText.make(16)
    downloads.withLock { downloads in
      downloads.append((id, download))
      if downloads.count > DownloadTable.limit { downloads.removeFirst() }
    }
    return id
  }

  func download(_ id: String) throws(GalleryError) -> Download {
    guard let found = downloads.withLock({ $0.first { $0.id == id } }) else {
      throw GalleryError(.unknown)
    }
    return found.what
  }
}
