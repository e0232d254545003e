import AlbumModel
import HTTPTypes
import Hummingbird
import PictureMetadata
import Posix

/// What people say of photos, and correct: the extended attributes of `PhotoNote`, and the date of capture.
extension GalleryRoutes {
  private struct FavouriteOrder: Decodable {
    var ids: [String]
    var on: Bool
  }

  func addNotes(to router: Router<Context>) {
    router.post("/api/favourites") { request, _ in
      let session = try sessions.session(request)
      let order = try await RequestBodies.json(request, FavouriteOrder.self, atMost: 8 << 20)
      return try await work.run { try setFavourites(order, session) }
    }
  }

  /// Marks many photos. Those that are gone are left out, and so are files that are none; the reply counts
  /// the others.
  private func setFavourites(_ order: FavouriteOrder, _ session: Session) throws -> Response {
    try session.space.requireWritable()
    let there = order.ids.filter { (try? session.photo($0)) != nil }
    let photos = try session.groups(there).compactMap { session.space.index.photo($0[0]) }
    let note = NoteChange(isFavourite: order.on)
    var count = 0
    for photo in photos where try set(note, on: session.space.files(with: photo), session) {
      count += 1
    }
    session.space.refresh(Set(photos.map(\.album.found.inode)))
    var text = JSONText()
    text.object { $0.field("count", Int64(count)) }
    return text.response()
  }

  /// Sets notes on a photo, and on the pictures and films that belong to it: so a note stays whichever of
  /// them a person keeps.
  func note(_ change: NoteChange, on photo: SpaceIndex.Photo, _ session: Session) throws {
    let files = session.space.files(with: photo)
    if try !set(change, on: files, session) {
      _ = try set(change, on: PhotoFiles(alone: photo), session, evenOther: true)
    }
    session.space.refresh(photo.album.found.inode)
  }

  /// Returns false if no file is a picture or film.
  private func set(
    _ change: NoteChange, on files: PhotoFiles, _ session: Session, evenOther: Bool = false
  ) throws -> Bool {
    let values = try change.values()
    let media = files.files.filter { evenOther || $0.isMedium }
    let folder = try session.space.mount.folder(files.folder)
    for file in media {
      try folder.require(file.row.name, is: file.row.inode)
      let path = folder.path(of: file.row.name)
      for (name, value) in values {
        if let value {
          try ExtendedAttribute.set(name, to: value, of: path)
        } else {
          try ExtendedAttribute.remove(name, of: path)
        }
      }
    }
    return !media.isEmpty
  }

  private func facts(of photo: SpaceIndex.Photo, _ session: Session) -> KnownFacts {
    guard let folder = try? session.space.mount.folder(photo.folder) else { return KnownFacts() }
    return PhotoDetailsReader.facts(of: photo.row.name, in: folder)
  }

  /// - Parameter camera: what the photo itself states, which counts until its thumbnail is made.
  func writeNotes(
    of photo: SpaceIndex.Photo, _ camera: CameraFacts, _ session: Session, to text: inout JSONText
  ) {
    let facts = facts(of: photo, session)
    text.field("favourite", facts.isFavourite)
    text.field("rating", facts.rating.map { Int64($0) })
    text.field("caption", facts.caption)
    text.field("tags", each: facts.tags) { $0.value($1) }
    text.field("people", each: facts.people) { $0.value($1) }
    let place = facts.place ?? camera.place
    text.field("latitude", place?.latitude)
    text.field("longitude", place?.longitude)
    text.field("near", Places.name(near: place))
    text.field("duration", facts.duration.map { Double($0.milliseconds) / 1000 })
  }
}

/// A change of notes. A field that is null removes the note; one that is missing leaves it.
struct NoteChange: Decodable {
  private var isFavourite: Bool?
  private var caption: String??
  private var tags: [String]?
  private var rating: Int??
  private var taken: String??

  private enum CodingKeys: CodingKey { case favourite, caption, tags, rating, taken }

  init(isFavourite: Bool) { self.isFavourite = isFavourite }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    isFavourite = try fields.decodeIfPresent(Bool.self, forKey: .favourite)
    tags = try fields.decodeIfPresent([String].self, forKey: .tags)
    func optional<Value: Decodable>(_ key: CodingKeys, _ type: Value.Type) throws -> Value?? {
      guard fields.contains(key) else { return nil }
      return .some(try fields.decodeIfPresent(Value.self, forKey: key))
    }
    caption = try optional(.caption, String.self)
    rating = try optional(.rating, Int.self)
    taken = try optional(.taken, String.self)
  }

  var isEmpty: Bool {
    isFavourite == nil && caption == nil && tags == nil && rating == nil && taken == nil
  }

  /// Bytes of a note.
  private static let limit = 32 << 10

  /// The attributes to set, or to remove where the value is nil. Throws `invalid` for values without a
  /// meaning.
  func values() throws(GalleryError) -> [(name: String, value: [UInt8]?)] {
    var values: [(String, [UInt8]?)] = []
    func add(_ note: PhotoNote, _ text: String?) throws(GalleryError) {
      let value = text.flatMap { $0.isEmpty ? nil : Array($0.utf8) }
      if let value, value.count > NoteChange.limit || !note.accepts(value) {
        throw GalleryError(.invalid, note.example)
      }
      values.append((note.attribute, value))
    }
    if let isFavourite { try add(.favourite, isFavourite ? "1" : nil) }
    if let caption { try add(.caption, caption) }
    if let tags { try add(.tags, try NoteChange.lines(tags)) }
    if let rating { try add(.rating, rating.flatMap { $0 == 0 ? nil : "\($0)" }) }
    if let taken { values.append(("user.albumfs.taken", try NoteChange.time(taken))) }
    return values
  }

  private static func lines(_ names: [String]) throws(GalleryError) -> String {
    if names.contains(where: { $0.isEmpty || $0.contains("\n") }) { throw GalleryError(.invalid) }
    return names.joined(separator: "\n")
  }

  private static func time(_ text: String?) throws(GalleryError) -> [UInt8]? {
    guard let text else { return nil }
    guard let time = CaptureTime(Array(text.utf8)) else {
      throw GalleryError(.invalid, "A time is 2023-05-04T12:33:10.")
    }
    return Array(time.text.utf8)
  }
}
