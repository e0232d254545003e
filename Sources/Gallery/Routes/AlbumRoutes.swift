import AlbumModel
import HTTPTypes
import Hummingbird
import Posix

extension GalleryRoutes {
  func addAlbums(to router: Router<Context>) {
    router.get("/api/albums") { request, _ in
      let session = try sessions.session(request)
      return try await files.run { list(session) }
    }
    router.post("/api/albums") { request, _ in
      let session = try sessions.session(request)
      let order = try await RequestBodies.json(request, NewAlbum.self)
      return try await files.run { try make(order, session) }
    }
    router.post("/api/albums/:id") { request, context in
      let session = try sessions.session(request)
      let album = try session.album(try Self.parameter("id", context))
      let order = try await RequestBodies.json(request, AlbumChange.self)
      return try await files.run { try change(album, order, session) }
    }
    router.post("/api/albums/:id/delete") { request, context in
      let session = try sessions.session(request)
      let album = try session.album(try Self.parameter("id", context))
      try session.space.requireWritable()
      let photos = session.space.index.tree(under: album.found.inode).map(\.found.content.count)
      let job = Job(.delete, total: photos.reduce(0, +))
      session.jobs.add(job)
      JobWork(session, job, work).deleteAlbum(album.found.inode)
      return Self.reply(job)
    }
  }

  private struct NewAlbum: Decodable {
    var parent: String?
    var name: String
  }

  /// A field that is null means something else than one that is missing.
  private struct AlbumChange: Decodable {
    var name: String?
    var parent: String??
    var cover: String??

    enum CodingKeys: CodingKey { case name, parent, cover }

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      name = try fields.decodeIfPresent(String.self, forKey: .name)
      func optional(_ key: CodingKeys) throws -> String?? {
        guard fields.contains(key) else { return nil }
        return .some(try fields.decodeIfPresent(String.self, forKey: key))
      }
      parent = try optional(.parent)
      cover = try optional(.cover)
    }
  }

  private func list(_ session: Session) -> Response {
    let (revision, albums) = session.space.index.albums()
    let hidden = session.space.index.hidden
    let covers = AlbumCovers(of: albums, without: hidden)
    var text = JSONText()
    text.object { text in
      text.field("revision", Int64(revision))
      text.field("albums", each: albums) { write($1, covers, hidden, session, to: &$0) }
    }
    return text.response()
  }

  private func write(
    _ album: SpaceIndex.Album, _ covers: AlbumCovers, _ hidden: Set<UInt64>, _ session: Session,
    to text: inout JSONText
  ) {
    let content = album.found.content
    let counts = content.counts(without: hidden)
    text.object { text in
      text.field("id", session.id(album.found.inode))
      text.field("parent", album.found.parent.map(session.id))
      text.field("name", album.name.text)
      let cover = covers[album]
      text.field("cover", cover.map { session.id($0.inode) })
      text.field("coverThumb", cover?.thumb ?? 0)
      text.field("photos", Int64(counts.all - counts.others))
      text.field("videos", Int64(counts.videos))
      text.field("others", Int64(counts.others))
      text.field("modified", album.found.modified)
    }
  }

  private func reply(_ inode: UInt64, _ session: Session) throws -> Response {
    let index = session.space.index
    guard let album = index.album(inode) else { throw GalleryError(.unknown) }
    let hidden = index.hidden
    let covers = AlbumCovers(of: index.albums().albums, without: hidden)
    var text = JSONText()
    text.object { text in
      text.field("album") { write(album, covers, hidden, session, to: &$0) }
    }
    return text.response()
  }

  // MARK: Changing

  /// The directory of an album, or that of the space.
  private func folder(of album: SpaceIndex.Album?, _ space: OpenSpace) throws -> Folder {
    if let album { return try space.mount.folder(of: album) }
    return try space.mount.root()
  }

  private func make(_ order: NewAlbum, _ session: Session) throws -> Response {
    let space = session.space
    try space.requireWritable()
    let name = try GalleryName.valid(order.name)
    let folder = try folder(of: try order.parent.map { try session.album($0) }, space)
    try folder.makeDirectory(name)
    space.refresh(try folder.status().file.inode)
    return try reply(try folder.entry(name).file.inode, session)
  }

  private func change(_ album: SpaceIndex.Album, _ order: AlbumChange, _ session: Session) throws
    -> Response
  {
    let space = session.space
    try space.requireWritable()
    if let cover = order.cover { try setCover(cover, of: album, session) }
    if order.name != nil || order.parent != nil {
      let old = try space.mount.folder(Array(album.found.path.dropLast()))
      do { try old.require(album.name, is: album.found.inode) } catch {
        space.refresh(try old.status().file.inode)
        throw error
      }
      let name = try order.name.map { try GalleryName.valid($0) } ?? album.name
      if let id = order.parent {
        let parent = try id.map { try session.album($0) }
        if parent?.found.path.starts(with: album.found.path) == true {
          throw GalleryError(.invalid)
        }
        let new = try folder(of: parent, space)
        try space.mount.withMeant(album.name, is: album.found.inode, in: old) {
          (old) throws(Errno) in try old.rename(album.name, to: name, in: new)
        }
        space.refresh(try new.status().file.inode)
      } else if name != album.name {
        try space.mount.withMeant(album.name, is: album.found.inode, in: old) {
          (old) throws(Errno) in try old.rename(album.name, to: name)
        }
      }
      space.refresh(try old.status().file.inode)
    } else {
      space.refresh(album.found.inode)
    }
    return try reply(album.found.inode, session)
  }

  private func setCover(_ id: String?, of album: SpaceIndex.Album, _ session: Session) throws {
    let folder = try session.space.mount.folder(of: album)
    guard let id else { return try ExtendedAttribute.remove(Self.coverAttribute, of: folder.path) }
    let photo = try session.photo(id)
    if photo.album.found.inode != album.found.inode { throw GalleryError(.invalid) }
    try ExtendedAttribute.set(Self.coverAttribute, to: photo.row.name.bytes, of: folder.path)
  }

  private static let coverAttribute = "user.albumfs.cover"
}
