import AlbumModel
import ControlProtocol
import FileKinds
import PhotoGroups
import PhotoSearch
import PictureMetadata
import Posix

/// Finds the photos that a query asks for.
///
/// It asks the mount for one attribute of each file, and reads the content only of photos whose thumbnail is
/// not made yet.
struct PhotoFinder {
  private let words: String
  /// For photos that state no place, so that the names of places are read only where one does.
  private let query: SearchQuery

  /// nil for words that ask for nothing.
  init?(_ words: String) {
    self.words = words
    query = SearchQuery(words)
    if query.isEmpty { return nil }
  }

  /// In the order of their paths. Throws if the place is no album and no mount point.
  func photos(in typed: String) throws(Failure) -> [FoundPhoto] {
    var found: [FoundPhoto] = []
    var withPlaces: SearchQuery?
    try PhotoWalk.folders(in: typed) { folder, place, names in
      found += matches(names, in: folder, place, &withPlaces)
    }
    return found.sorted { $0.files[0].bytes.lexicographicallyPrecedes($1.files[0].bytes) }
  }

  private func matches(
    _ names: [FileName], in folder: borrowing Folder, _ place: PhotoWalk.Place,
    _ withPlaces: inout SearchQuery?
  ) -> [FoundPhoto] {
    let album = SearchText(album: place.album).bytes
    var groups: [Group] = []
    let parts = PhotoGrouping.groups(of: names) { PhotoWalk.identifier(of: names[$0], in: folder) }
    for part in parts {
      let files = part.members.map { member in
        (name: names[member.place], facts: PhotoFinder.facts(of: names[member.place], in: folder))
      }
      let name = names[part.members[0].place]
      let isLive = part.isLive || PhotoFinder.holdsFilm(name, in: folder)
      groups.append(Group(files: files, isLive: isLive))
    }
    var found: [FoundPhoto] = []
    for group in groups where group.isMedium {
      if group.facts.place != nil, withPlaces == nil {
        withPlaces = SearchQuery(words, towns: Places.table)
      }
      let query = group.facts.place == nil ? query : withPlaces ?? query
      if group.isFound(by: query, album.span, in: folder) {
        let paths = group.files.map { place.file($0.name) }
        found.append(FoundPhoto(paths, album: place.album, group.facts))
      }
    }
    return found
  }

  /// True of a motion photo. Only one that is named so is looked into.
  private static func holdsFilm(_ name: FileName, in folder: borrowing Folder) -> Bool {
    guard MotionPhoto.isNamed(name.bytes), let file = try? folder.open(name) else { return false }
    return MotionPhoto.film(size: file.entry.size) { try? file.bytes($0, at: $1) } != nil
  }

  /// A photo and what belongs to it, which a search finds as one.
  private struct Group {
    /// The photo comes first.
    let files: [(name: FileName, facts: KnownFacts)]
    let isLive: Bool

    var facts: KnownFacts { files[0].facts }

    /// False for a file that is neither photo nor film.
    var isMedium: Bool {
      facts.dimensions != nil || NamedKind(of: files[0].name.bytes) != .other
    }

    private var kinds: PhotoKinds {
      var kinds = PhotoKinds()
      for (name, facts) in files { kinds.formUnion(PhotoKinds(name: name, facts)) }
      if isLive {
        kinds.insert(.live)
        kinds.remove(.video)
      }
      return kinds
    }

    func isFound(
      by query: SearchQuery, _ album: Span<UInt8>, in folder: borrowing Folder
    ) -> Bool {
      let text = Array(files.map { SearchText(name: $0.name, $0.facts).bytes }.joined())
      // A file without a date has the time of its last change.
      let clock =
        facts.taken?.clockSeconds ?? (try? folder.entry(files[0].name))?.modified.seconds ?? 0
      return query.finds(
        SearchQuery.Photo(
          text: text.span, album: album, clockSeconds: clock, kinds: kinds,
          rating: facts.rating.flatMap { Int8(exactly: $0) } ?? 0,
          place: facts.place.flatMap { Places.table?.nearest(to: $0) } ?? 0))
    }
  }

  /// What the mount knows; of a photo without a thumbnail, what its content says.
  private static func facts(of name: FileName, in folder: borrowing Folder) -> KnownFacts {
    let path = folder.path(of: name)
    var facts =
      ExtendedAttribute.value(KnownFacts.attribute, of: path).map { KnownFacts($0) } ?? KnownFacts()
    if facts.dimensions == nil, NamedKind(of: name.bytes) != .other,
      let file = try? folder.open(name)
    {
      let read: CaptureDate.Read = { try? file.bytes($0, at: $1) }
      let camera = CameraFacts.find(size: file.entry.size, read)
      facts.camera = facts.camera ?? camera.camera
      facts.lens = facts.lens ?? camera.lens
      facts.place = facts.place ?? camera.place
      facts.taken = facts.taken ?? CaptureDate.find(size: file.entry.size, read)
    }
    facts.taken = facts.taken ?? FileDate(in: name.bytes)?.time
    return facts
  }
}

/// A photo in the output of `find --json`.
struct FoundPhoto: Encodable {
  /// As their bytes are, for programs. The photo comes first, and then what belongs to it.
  let files: [PlainPath]
  var path: String
  /// The paths of what belongs to it.
  var others: [String]?
  /// From the root of the space.
  var album: String
  var taken: String?
  var width: Int?
  var height: Int?
  /// Of a video, in seconds.
  var duration: Double?
  var camera: String?
  var lens: String?
  var caption: String?
  var favourite: Bool?
  var rating: Int?
  var tags: [String]?
  var people: [String]?
  var place: String?
  /// The nearest town.
  var near: String?

  enum CodingKeys: CodingKey {
    case path, others, album, taken, width, height, duration, camera, lens, caption, favourite,
      rating, tags
    case people, place, near
  }

  init(_ files: [PlainPath], album: [FileName], _ facts: KnownFacts) {
    self.files = files
    path = files[0].text
    others = files.count > 1 ? files.dropFirst().map(\.text) : nil
    self.album = album.map(\.text).joined(separator: "/")
    taken = facts.taken?.text
    width = facts.dimensions?.width
    height = facts.dimensions?.height
    duration = facts.duration.map { Double($0.milliseconds) / 1000 }
    (camera, lens, caption) = (facts.camera, facts.lens, facts.caption)
    favourite = facts.isFavourite ? true : nil
    rating = facts.rating
    tags = facts.tags.isEmpty ? nil : facts.tags
    people = facts.people.isEmpty ? nil : facts.people
    place = facts.place?.text
    near = Places.name(near: facts.place)
  }
}
