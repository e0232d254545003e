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
