/// The pictures that show albums: of each the one that the file system names, else its first photo, else its
/// first video with a thumbnail, else the cover of the first album in it that has one.
struct AlbumCovers {
  struct Cover {
    var inode: UInt64
    var thumb: Int64
  }

  private var covers: [UInt64: Cover] = [:]

  /// - Parameters:
  ///   - albums: a parent before the albums in it, in the order of their names.
  ///   - hidden: photos that show nothing.
  init(of albums: [SpaceIndex.Album], without hidden: Set<UInt64>) {
    // From the last to the first: so the first album in another one is the last to offer it a cover.
    for album in albums.reversed() {
      let inode = album.found.inode
      if let own = AlbumCovers.own(album, hidden) { covers[inode] = own }
      if let cover = covers[inode], let parent = album.found.parent { covers[parent] = cover }
    }
  }

  subscript(_ album: SpaceIndex.Album) -> Cover? { covers[album.found.inode] }

  private static func own(_ album: SpaceIndex.Album, _ hidden: Set<UInt64>) -> Cover? {
    let content = album.found.content
    let shown = { (place: Int) in !hidden.contains(content.inodes[place]) }
    let hasPicture = { (place: Int) in
      content.kinds[place] == .photo || content.thumbnails[place] != 0
    }
    let named = album.found.cover.flatMap { name in
      (0..<content.count).first { content.nameBytes($0).elementsEqual(name) }
    }
    let place =
      named.flatMap { hasPicture($0) && shown($0) ? $0 : nil }
      ?? (0..<content.count).first { content.kinds[$0] == .photo && shown($0) }
      ?? (0..<content.count).first { hasPicture($0) && shown($0) }
    return place.map { Cover(inode: content.inodes[$0], thumb: PhotoListing.thumb(content, $0)) }
  }
}
