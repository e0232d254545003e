import AlbumModel
import HTTPTypes
import Hummingbird
import PictureMetadata
import Posix

extension GalleryRoutes {
  func addPhotos(to router: Router<Context>) {
    router.get("/api/photos") { request, _ in
      let session = try sessions.session(request)
      let view = try PhotoView(request, session)
      let slice = try Self.slice(request)
      return try await files.run { session.listings.listing(of: view, session).response(slice) }
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
      guard let text = query(name, request) else { return usual }
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
      text.field("path", each: photo.album.found.path) { $0.value($1.text) }
    }
    return text.response()
  }

  /// What the photo says of its camera; nothing where it cannot be read.
  private func camera(of photo: SpaceIndex.Photo, _ session: Session) -> CameraFacts {
    guard photo.row.kind == .photo, let folder = try? session.space.mount.folder(photo.folder),
      let file = try? folder.open(photo.row.name), file.entry.file.inode == photo.row.inode
    else { return CameraFacts() }
    return CameraFacts.find(size: file.entry.size) { try? file.bytes($0, at: $1) }
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
    if try folder.entry(photo.row.name).file.inode != photo.row.inode {
      throw GalleryError(.unknown)
    }
    try ExtendedAttribute.set(
      Self.rotation, to: Array("\(rotation)".utf8), of: folder.path(of: photo.row.name))
    session.space.refresh(photo.album.found.inode)
  }

  private func change(_ photo: SpaceIndex.Photo, _ order: PhotoChange, _ session: Session) throws
    -> Response
  {
    let space = session.space
    try space.requireWritable()
    if let rotation = order.rotation { try turn(photo, to: rotation, session) }
    if let text = order.name {
      let name = try GalleryName.valid(text)
      let folder = try space.mount.folder(photo.folder)
      if try folder.entry(photo.row.name).file.inode != photo.row.inode {
        throw GalleryError(.unknown)
      }
      if name != photo.row.name { try folder.rename(photo.row.name, to: name) }
      space.refresh(photo.album.found.inode)
    }
    return describe(try session.photo(session.id(photo.row.inode)), session)
  }
}

/// Which photos a listing has, and in which order.
enum PhotoView {
  case album(SpaceIndex.Album)
  case all, recent, date

  init(_ request: Request, _ session: Session) throws(GalleryError) {
    if let id = GalleryRoutes.query("album", request) {
      self = .album(try session.album(id))
      return
    }
    switch GalleryRoutes.query("view", request) {
    case "all": self = .all
    case "recent": self = .recent
    case "date": self = .date
    default: throw GalleryError(.invalid)
    }
  }
}

/// The last listing of a session, so that a page that asks for it in parts does not have it sorted each time.
/// Any thread.
final class ListingMemo: Sendable {
  private let last = Mutex<(key: String, listing: PhotoListing)?>(nil, rank: .leaf)

  func listing(of view: PhotoView, _ session: Session) -> PhotoListing {
    let key = "\(view.name) \(session.space.index.revision)"
    if let last = last.withLock({ $0 }), last.key == key { return last.listing }
    let made = PhotoListing(session, view)
    last.withLock { $0 = (key, made) }
    return made
  }
}

extension PhotoView {
  fileprivate var name: String {
    switch self {
    case .album(let album): String(album.found.inode)
    case .all: "all"
    case .recent: "recent"
    case .date: "date"
    }
  }
}

/// The columns of a listing.
struct PhotoListing: Sendable {
  private struct Place {
    var album: Int32
    var row: Int32
    var key: Int64
  }

  private let id: @Sendable (UInt64) -> String
  private let revision: UInt64
  private let albums: [SpaceIndex.Album]
  private var places: [Place] = []

  init(_ session: Session, _ view: PhotoView) {
    // A listing that its session keeps must not keep the session.
    let ids = session.ids
    id = { ids.id($0) }
    let index = session.space.index
    let hidden = index.hidden
    let all = index.albums()
    revision = all.revision
    if case .album(let album) = view { albums = [album] } else { albums = all.albums }
    for (number, album) in albums.enumerated() {
      let content = album.found.content
      for row in 0..<content.count where !hidden.contains(content.inodes[row]) {
        let key = PhotoListing.key(content, row, view)
        places.append(Place(album: Int32(number), row: Int32(row), key: key))
      }
    }
    // Newest first; those of one time stay in the order of their names.
    switch view {
    case .recent, .date: places.sort { ($1.key, $0.album, $0.row) < ($0.key, $1.album, $1.row) }
    case .album, .all: break
    }
  }

  private static func key(_ content: AlbumContent, _ row: Int, _ view: PhotoView) -> Int64 {
    switch view {
    case .recent: content.modified[row]
    case .date: content.details[row].taken ?? content.modified[row]
    case .album, .all: 0
    }
  }

  func response(_ slice: Range<Int>) -> Response {
    let places = places[slice.clamped(to: places.indices)]
    var text = JSONText()
    text.object { text in
      text.field("revision", Int64(revision))
      text.field("count", Int64(self.places.count))
      column("id", places, &text) { $0.value(id($1.inodes[$2])) }
      column("name", places, &text) { $0.value($1.name($2).text) }
      column("kind", places, &text) { $0.value($1.kinds[$2].name) }
      column("width", places, &text) { $0.value(Int64($1.details[$2].width)) }
      column("height", places, &text) { $0.value(Int64($1.details[$2].height)) }
      column("taken", places, &text) { $0.value($1.details[$2].taken) }
      column("modified", places, &text) { $0.value($1.modified[$2]) }
      column("size", places, &text) { $0.value($1.sizes[$2]) }
      text.field("album", each: places) {
        $0.value(id(albums[Int($1.album)].found.inode))
      }
      column("thumb", places, &text) { $0.value(PhotoListing.thumb($1, $2)) }
    }
    return text.response()
  }

  private func column(
    _ name: String, _ places: ArraySlice<Place>, _ text: inout JSONText,
    _ body: (inout JSONText, AlbumContent, Int) -> Void
  ) {
    text.field(name, each: places) { text, place in
      body(&text, albums[Int(place.album)].found.content, Int(place.row))
    }
  }

  /// A photo without a thumbnail that has not changed for so long waits for none: its decoding failed.
  private static let patience = Duration.seconds(86_400)

  /// A new thumbnail is a new inode.
  static func thumb(_ content: AlbumContent, _ row: Int) -> Int64 {
    if content.thumbnails[row] != 0 { return Int64(content.thumbnails[row] & 0xF_FFFF_FFFF_FFFF) }
    let isWaiting =
      content.kinds[row] == .photo && !content.details[row].isHopeless
      && Timestamp(nanoseconds: content.row(row).changed) > SystemClock.wall() - patience
    return isWaiting ? 0 : -1
  }
}
