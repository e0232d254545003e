import AlbumModel
import ControlProtocol
import FileKinds
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
    return found.sorted { $0.file.bytes.lexicographicallyPrecedes($1.file.bytes) }
  }

  private func matches(
    _ names: [FileName], in folder: borrowing Folder, _ place: PhotoWalk.Place,
    _ withPlaces: inout SearchQuery?
  ) -> [FoundPhoto] {
    let kinds = names.map { NamedKind(of: $0.bytes) }
    let live = LivePair.marks(
      count: names.count, name: { names[$0].bytes[...] }, isPhoto: { kinds[$0] == .picture },
      isFilm: { kinds[$0] == .film })
    let album = SearchText(album: place.album).bytes
    var found: [FoundPhoto] = []
    for (number, name) in names.enumerated() {
      let facts = PhotoFinder.facts(of: name, in: folder)
      if facts.dimensions == nil, kinds[number] == .other { continue }
      var own = PhotoKinds(name: name, facts)
      if live[number] { own.insert(.live) }
      if facts.place != nil, withPlaces == nil {
        withPlaces = SearchQuery(words, towns: Places.table)
      }
      let query = facts.place == nil ? query : withPlaces ?? query
      if PhotoFinder.finds(query, name, facts, own, album.span, in: folder) {
        found.append(FoundPhoto(place.file(name), album: place.album, facts))
      }
    }
    return found
  }

  private static func finds(
    _ query: SearchQuery, _ name: FileName, _ facts: KnownFacts, _ kinds: PhotoKinds,
    _ album: Span<UInt8>,
    in folder: borrowing Folder
  ) -> Bool {
    let text = SearchText(name: name, facts).bytes
    // A file without a date has the time of its last change.
    let clock =
      facts.taken?.clockSeconds ?? (try? folder.entry(name))?.modified.seconds ?? 0
    return query.finds(
      SearchQuery.Photo(
        text: text.span, album: album, clockSeconds: clock, kinds: kinds,
        rating: facts.rating.flatMap { Int8(exactly: $0) } ?? 0,
        place: facts.place.flatMap { Places.table?.nearest(to: $0) } ?? 0))
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
