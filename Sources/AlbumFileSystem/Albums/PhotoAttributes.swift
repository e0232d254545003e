import AlbumFormat
import AlbumModel
import AlbumStore

/// The extended attributes of a photo that albumfs gives a meaning.
///
/// - `user.albumfs.taken`, `.dimensions`, `.camera`, `.lens`, `.dhash`, `.place`, and of a video
///   `.duration`: what the thumbnailer found in the picture. They lie in the inode of the thumbnail, and so
///   go when the content goes. Requests get their values, and no list has their names. What a user sets on
///   the photo itself goes first.
/// - `user.albumfs.rotation`: set by users only. The thumbnail follows it.
/// - those of `PhotoNote`: what people say of the photo.
/// - `user.albumfs.facts`: the values of all of these, for programs that search. Nobody sets it.
enum PhotoAttributes {
  static let taken = Array("user.albumfs.taken".utf8)
  static let dimensions = Array("user.albumfs.dimensions".utf8)
  static let duration = Array("user.albumfs.duration".utf8)
  static let camera = Array("user.albumfs.camera".utf8)
  static let lens = Array("user.albumfs.lens".utf8)
  static let hash = Array("user.albumfs.dhash".utf8)
  static let place = Array(PhotoNote.place.attribute.utf8)
  static let rotation = Array("user.albumfs.rotation".utf8)
  private static let all = Array(KnownFacts.attribute.utf8)
  private static let prefix = Array("user.albumfs.".utf8)

  /// The attributes that the thumbnailer derives from the picture.
  private static let found = [taken, dimensions, duration, camera, lens, hash, place]

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
    case camera, lens:
      if CameraName(value) == nil {
        throw FSError(.invalid, "the name of a camera is one line of at most 120 bytes")
      }
    case hash:
      if PictureHash(value) == nil {
        throw FSError(.invalid, "a perceptual hash has 32 hexadecimal digits")
      }
    case all: throw FSError(.invalid, "albumfs itself puts the facts together")
    case rotation:
      if Rotation(value) == nil { throw FSError(.invalid, "a rotation is 0, 90, 180 or 270") }
    default:
      if let note = PhotoNote(attribute: name), !note.accepts(value) {
        throw FSError(.invalid, note.example)
      }
    }
  }

  /// The value that the thumbnailer found, or that is put together; nil if there is none.
  static func derived(
    _ name: [UInt8], of index: InodeIndex, thumbnail: InodeIndex?, _ catalog: borrowing Catalog
  ) -> [UInt8]? {
    let known: PictureFacts? = if let thumbnail { facts(in: thumbnail, catalog) } else { nil }
    if name == all { return everything(of: index, known, catalog) }
    return found.contains(name) ? known?.value(name) : nil
  }

  private static func everything(
    of index: InodeIndex, _ facts: PictureFacts?, _ catalog: borrowing Catalog
  ) -> [UInt8]? {
    if catalog.state(index).kind != .regular { return nil }
    return KnownFacts.value { name in
      let name = prefix + Array(name.utf8)
      return catalog.attribute(name, of: index) ?? facts?.value(name)
    }
  }

  /// True for an attribute that requests may see.
  static func isShown(_ name: [UInt8]) -> Bool { name != StoredFacts.attribute }

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
    catalog.setAttribute(StoredFacts.attribute, of: thumbnail, to: StoredFacts.encode(facts))
    for name in found where catalog.attribute(name, of: photo) == facts.value(name) {
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
    if catalog.attribute(StoredFacts.attribute, of: thumbnail) != nil {
      catalog.setAttribute(StoredFacts.attribute, of: thumbnail, to: nil)
    }
  }

  /// True for a photo whose thumbnail was made before albumfs kept such facts, or all of them.
  static func lacksFacts(_ photo: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    guard catalog.state(photo).thumbnailState == .made,
      let thumbnail = catalog.thumbnail(of: photo)
    else { return false }
    return catalog.attribute(StoredFacts.attribute, of: thumbnail)
      .map { !StoredFacts.isComplete($0) } ?? true
  }

  private static func facts(of photo: InodeIndex, _ catalog: borrowing Catalog) -> PictureFacts? {
    guard let thumbnail = catalog.thumbnail(of: photo) else { return nil }
    return facts(in: thumbnail, catalog)
  }

  private static func facts(in thumbnail: InodeIndex, _ catalog: borrowing Catalog) -> PictureFacts?
  {
    catalog.attribute(StoredFacts.attribute, of: thumbnail).flatMap { StoredFacts.decode($0) }
  }
}

extension PictureFacts {
  /// The value of an attribute that the thumbnailer derives.
  fileprivate func value(_ name: [UInt8]) -> [UInt8]? {
    let text: String? =
      switch name {
      case PhotoAttributes.taken: taken?.text
      case PhotoAttributes.dimensions: dimensions?.text
      case PhotoAttributes.duration: duration?.text
      case PhotoAttributes.camera: camera?.text
      case PhotoAttributes.lens: lens?.text
      case PhotoAttributes.hash: hash?.text
      case PhotoAttributes.place: place?.text
      default: nil
      }
    return text.map { Array($0.utf8) }
  }
}
