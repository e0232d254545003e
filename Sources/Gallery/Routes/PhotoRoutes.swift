import AlbumModel
import HTTPTypes
import Hummingbird
import PhotoGroups
import PictureMetadata
import Posix

extension GalleryRoutes {
  func addPhotos(to router: Router<Context>) {
    router.get("/api/photos") { request, _ in
      let session = try sessions.session(request)
      let slice = try Self.slice(request)
      return try await files.run {
        let asked = try PhotoView(request, session)
        if slice.lowerBound == 0 {
          let albums = asked.albums(ofFirst: slice.count, session.space.index)
          session.space.waitForDetails(of: albums, first: asked.photos(ofFirst: slice.count))
        }
        return session.listings.listing(of: try PhotoView(request, session), session)
          .response(slice)
      }
    }
    router.get("/api/photo/:id") { request, context in
      let session = try sessions.session(request)
      let photo = try session.photo(try Self.parameter("id", context))
      return try await files.run { describe(photo, session) }
    }
    router.post("/api/photo/:id") { request, context in
      let session = try sessions.session(request)
      let photo = try session.photo(try Self.parameter("id", context))
      let order = try await RequestBodies.json(request, PhotoChange.self)
      return try await files.run { try change(photo, order, session) }
    }
  }

  /// The part of a listing that a page asks for.
  private static func slice(_ request: Request) throws(GalleryError) -> Range<Int> {
    func number(_ name: String, _ usual: Int) throws(GalleryError) -> Int {
      guard let text = request.query(name) else { return usual }
      guard let number = Int(text), (0...1 << 30).contains(number) else {
        throw GalleryError(.invalid)
      }
      return number
    }
    let (from, limit) = (try number("from", 0), try number("limit", 1 << 30))
    return from..<from + limit
  }

  private struct PhotoChange: Decodable {
    var rotation: Int?
    var name: String?
    var notes: NoteChange

    enum CodingKeys: CodingKey { case rotation, name }

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      rotation = try fields.decodeIfPresent(Int.self, forKey: .rotation)
      name = try fields.decodeIfPresent(String.self, forKey: .name)
      notes = try NoteChange(from: decoder)
    }
  }

  private func describe(_ photo: SpaceIndex.Photo, _ session: Session) -> Response {
    let row = photo.row
    var text = JSONText()
    text.object { text in
      text.field("id", session.id(row.inode))
      text.field("name", row.name.text)
      text.field("album", session.id(photo.album.found.inode))
      text.field("kind", row.kind.name)
      text.field("size", row.size)
      text.field("modified", row.modified)
      text.field("taken", row.details.taken)
      text.field("width", Int64(row.details.width))
      text.field("height", Int64(row.details.height))
      let facts = camera(of: photo, session)
      text.field("camera", facts.camera)
      text.field("lens", facts.lens)
      text.field("exposure", facts.exposure)
      text.field("aperture", facts.aperture)
      text.field("iso", facts.iso.map { Int64($0) })
      text.field("focalLength", facts.focalLength)
      text.field("focalLength35", facts.focalLengthOn35mm.map { Int64($0) })
      text.field("rotation", rotation(of: photo, session))
      writeNotes(of: photo, facts, session, to: &text)
      text.field("live", isLive(photo, session))
      text.field("path", each: photo.album.found.path) { $0.value($1.text) }
      text.field("files", each: session.space.files(with: photo).files) { text, file in
        text.object { text in
          text.field("id", session.id(file.row.inode))
          text.field("name", file.row.name.text)
          text.field("kind", file.row.kind.name)
          text.field("size", file.row.size)
          text.field("part", file.part.rawValue)
        }
      }
    }
    return text.response()
  }

  /// What the photo says of its camera; nothing where it cannot be read.
  private func camera(of photo: SpaceIndex.Photo, _ session: Session) -> CameraFacts {
    guard photo.row.kind != .other, let file = try? session.space.mount.open(photo) else {
      return CameraFacts()
    }
    return CameraFacts.find(size: file.entry.size) { try? file.bytes($0, at: $1) }
  }

  /// True if the film of the photo's moment is beside it or inside it.
  private func isLive(_ photo: SpaceIndex.Photo, _ session: Session) -> Bool {
    if photo.row.kind != .photo { return false }
    let content = photo.album.found.content
    if content.place(of: photo.row.inode).map(content.isLive) == true { return true }
    guard let file = try? session.space.mount.open(photo) else { return false }
    return MotionPhoto.film(size: file.entry.size) { try? file.bytes($0, at: $1) } != nil
  }

  /// The attribute that thumbnails and previews follow; the original stays as it is.
  private static let rotation = "user.albumfs.rotation"

  private func rotation(of photo: SpaceIndex.Photo, _ session: Session) -> Int64 {
    guard let folder = try? session.space.mount.folder(photo.folder),
      let value = ExtendedAttribute.value(Self.rotation, of: folder.path(of: photo.row.name))
    else { return 0 }
    return Int64(String(decoding: value, as: UTF8.self)) ?? 0
  }

  private func turn(_ photo: SpaceIndex.Photo, to rotation: Int, _ session: Session) throws {
    guard [0, 90, 180, 270].contains(rotation) else { throw GalleryError(.invalid) }
    let folder = try session.space.mount.folder(photo.folder)
    try folder.require(photo.row.name, is: photo.row.inode)
    try ExtendedAttribute.set(
      Self.rotation, to: Array("\(rotation)".utf8), of: folder.path(of: photo.row.name))
    session.space.refresh(photo.album.found.inode)
  }

  private func change(_ photo: SpaceIndex.Photo, _ order: PhotoChange, _ session: Session) throws
    -> Response
  {
    let space = session.space
    try space.requireWritable()
    let name = try order.name.map { try GalleryName.valid($0) }
    if let rotation = order.rotation { try turn(photo, to: rotation, session) }
    if !order.notes.isEmpty { try note(order.notes, on: photo, session) }
    if let name { try rename(photo, to: name, session) }
    return describe(try session.photo(session.id(photo.row.inode)), session)
  }

  /// Gives a photo another name, and the files that belong to it names that still do. A file that belongs to
  /// a photo gets a name of its own.
  private func rename(_ photo: SpaceIndex.Photo, to name: FileName, _ session: Session) throws {
    let space = session.space
    let folder = try space.mount.folder(photo.folder)
    var names = [(from: photo.row.name, inode: Optional(photo.row.inode), to: name)]
    let files = space.files(with: photo).files
    if files.first?.row.inode == photo.row.inode {
      names += files.dropFirst().map { ($0.row.name, $0.row.inode, $0.name.following(name)) }
    }
    try GalleryName.rename(
      names.filter { $0.from != $0.to }, of: folder, in: folder, space.mount)
    space.refresh(photo.album.found.inode)
  }
}
