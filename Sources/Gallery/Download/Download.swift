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

/// The page's request for a download.
struct DownloadOrder: Decodable {
  private var ids: [String]?
  private var album: String?
  private var alone: Bool?

  /// Throws `unknown` for ids that are not this session's, and `invalid` where nothing is chosen.
  func download(_ session: Session) throws(GalleryError) -> Download {
    if let album { return .album(try session.album(album).found.inode) }
    guard let ids, !ids.isEmpty else { throw GalleryError(.invalid) }
    let groups = try session.groups(ids, isAlone: alone == true)
    return groups.count == 1 && groups[0].count == 1 ? .photo(groups[0][0]) : .photos(groups)
  }
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
