import AlbumFormat
import AlbumModel
import AlbumStore

/// The extended attributes of a photo that albumfs gives a meaning.
///
/// - `user.albumfs.taken`, `user.albumfs.dimensions`, and of a video `user.albumfs.duration`: what the
///   thumbnailer found in the picture. They lie in the inode of the thumbnail, and so go when the content
///   goes. Requests get their values, and no list has their names. What a user sets on the photo itself goes
///   first.
/// - `user.albumfs.rotation`: set by users only. The thumbnail follows it.
/// - those of `PhotoNote`: what people say of the photo.
enum PhotoAttributes {
  static let taken = Array("user.albumfs.taken".utf8)
  static let dimensions = Array("user.albumfs.dimensions".utf8)
  static let duration = Array("user.albumfs.duration".utf8)
  static let rotation = Array("user.albumfs.rotation".utf8)

  /// The attributes that the thumbnailer derives from the picture.
  private static let found = [taken, dimensions, duration]

  /// The attribute of a thumbnail's inode that holds the facts of its photo: dimensions, time of capture and
  /// duration of a video, with spaces between and `-` for what is unknown. Requests for attributes do not
  /// reach it.
  private static let facts = Array("albumfs.picture".utf8)

  static func isName(_ name: [UInt8]) -> Bool {
    name == taken || name == dimensions || name == duration || name == rotation
  }

  /// Throws `.invalid` for a value that says nothing.
  static func check(
    _ name: [UInt8], _ value: [UInt8], of index: InodeIndex, _ catalog: borrowing Catalog
  )
    throws(FSError)
  {
    if catalog.state(index).kind != .regular { return }
    switch name {
    case taken:
      if CaptureTime(value) == nil { throw FSError(.invalid, "a time is 2023-05-04T12:33:10") }
    case dimensions:
      if PictureDimensions(value) == nil { throw FSError(.invalid, "dimensions are 4000x3000") }
    case duration:
      if VideoDuration(value) == nil { throw FSError(.invalid, "a duration is 12.480") }
    case rotation:
      if Rotation(value) == nil { throw FSError(.invalid, "a rotation is 0, 90, 180 or 270") }
    default:
      if let note = PhotoNote(attribute: name), !note.accepts(value) {
        throw FSError(.invalid, note.example)
      }
    }
  }

  /// The value that the thumbnailer found; nil if there is none.
  static func derived(_ name: [UInt8], of index: InodeIndex, _ catalog: borrowing Catalog)
    -> [UInt8]?
  {
    if name != taken && name != dimensions && name != duration { return nil }
    return facts(of: index, catalog).flatMap { text(name, $0) }
  }

  private static func text(_ name: [UInt8], _ facts: PictureFacts) -> [UInt8]? {
    let text =
      switch name {
      case taken: facts.taken?.text
      case dimensions: facts.dimensions?.text
      default: facts.duration?.text
      }
    return text.map { Array($0.utf8) }
  }

  /// True for an attribute that requests may see.
  static func isShown(_ name: [UInt8]) -> Bool { name != facts }

  /// How a photo is turned.
  static func rotation(of photo: InodeIndex, _ catalog: borrowing Catalog) -> Rotation {
    catalog.attribute(rotation, of: photo).flatMap { Rotation($0) } ?? .none
  }

  /// The time of capture: what the user set, else what the picture states.
  static func taken(of photo: InodeIndex, _ catalog: borrowing Catalog) -> CaptureTime? {
    if let own = catalog.attribute(taken, of: photo) { return CaptureTime(own) }
    return facts(of: photo, catalog)?.taken
  }

  /// True for a photo that is a film, as its thumbnail has shown.
  static func isFilm(_ photo: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    catalog.attribute(duration, of: photo) != nil || facts(of: photo, catalog)?.duration != nil
  }

  static func dimensions(of photo: InodeIndex, _ catalog: borrowing Catalog) -> PictureDimensions? {
    if let own = catalog.attribute(dimensions, of: photo) { return PictureDimensions(own) }
    return facts(of: photo, catalog)?.dimensions
  }

  /// Stores what the thumbnailer found with a new thumbnail. An attribute of the photo itself that says the
  /// same goes: a copy with attributes has brought it, and it must not outlive the content.
  static func keep(
    _ facts: PictureFacts, in thumbnail: InodeIndex, of photo: InodeIndex,
    _ catalog: inout Catalog
  ) {
    if facts == PictureFacts() { return }
    var texts = [facts.dimensions?.text, facts.taken?.text, facts.duration?.text]
    while texts.last == .some(nil) { texts.removeLast() }
    let line = texts.map { $0 ?? "-" }.joined(separator: " ")
    catalog.setAttribute(PhotoAttributes.facts, of: thumbnail, to: Array(line.utf8))
    for name in found where catalog.attribute(name, of: photo) == text(name, facts) {
      drop(name, of: photo, &catalog)
    }
  }

  private static func drop(_ name: [UInt8], of photo: InodeIndex, _ catalog: inout Catalog) {
    if catalog.attribute(name, of: photo) != nil {
      catalog.setAttribute(name, of: photo, to: nil)
    }
  }

  /// A thumbnail that became the user's own says nothing of a photo.
  static func forgetFacts(in thumbnail: InodeIndex, _ catalog: inout Catalog) {
    if catalog.attribute(facts, of: thumbnail) != nil {
      catalog.setAttribute(facts, of: thumbnail, to: nil)
    }
  }

  /// True for a photo whose thumbnail was made before albumfs kept such facts.
  static func lacksFacts(_ photo: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    guard catalog.state(photo).thumbnailState == .made,
      let thumbnail = catalog.thumbnail(of: photo)
    else { return false }
    return catalog.attribute(facts, of: thumbnail) == nil
  }

  private static func facts(of photo: InodeIndex, _ catalog: borrowing Catalog) -> PictureFacts? {
    guard let thumbnail = catalog.thumbnail(of: photo),
      let stored = catalog.attribute(facts, of: thumbnail)
    else { return nil }
    let parts = stored.split(separator: UInt8(ascii: " "))
    return PictureFacts(
      dimensions: parts.first.flatMap { PictureDimensions(Array($0)) },
      taken: parts.count > 1 ? CaptureTime(Array(parts[1])) : nil,
      duration: parts.count > 2 ? VideoDuration(Array(parts[2])) : nil)
  }
}
