/// One meaning of a word.
enum Criterion: Equatable, Sendable {
  case words(Needle)
  /// At or near these towns.
  case place(PlaceSet)
  case date(SearchDate)
  case kind(PhotoKinds)
  /// That many stars or more.
  case stars(Int8)
  case rejected

  func isMet(_ photo: borrowing SearchQuery.Photo) -> Bool {
    switch self {
    case .words(let needle):
      needle.field == .album
        ? needle.isIn(photo.album) : needle.isIn(photo.text) || needle.isIn(photo.album)
    case .place(let towns): towns.contains(photo.place)
    case .date(let date): date.contains(photo.clockSeconds)
    case .kind(let kind): photo.kinds.contains(kind)
    case .stars(let least): photo.rating >= least
    case .rejected: photo.rating < 0
    }
  }

  static func text(
    _ text: String, in field: SearchText.Field? = nil, isWhole: Bool = false
  ) -> [Criterion] {
    Needle(text, in: field, isWhole: isWhole).map { [.words($0)] } ?? []
  }

  /// Everything that a word may mean. A word names a town only if it is a whole word of its name: `trip` is
  /// not Tripoli.
  static func choices(for token: SearchToken, _ towns: PlaceTable?) -> [Criterion] {
    if let field = token.field { return choices(in: field, token, towns) }
    let words =
      text(token.text, isWhole: token.isPhrase) + place(token.text, isWhole: true, towns)
    if token.isPhrase { return words }
    let date = SearchDate.month(token.text).map { SearchDate.month($0) } ?? SearchDate(token.text)
    let meanings: [Criterion] =
      (date.map { [.date($0)] } ?? []) + (kind(token.text).map { [$0] } ?? [])
    return meanings + words
  }

  private static func place(_ text: String, isWhole: Bool, _ towns: PlaceTable?) -> [Criterion] {
    guard let towns, text.utf8.count > 2, let needle = Needle(text, isWhole: isWhole) else {
      return []
    }
    return [.place(towns.matches(needle))]
  }

  // MARK: Fields

  private static let fields: [String: SearchText.Field] = [
    "name": .name, "album": .album, "caption": .caption, "beschreibung": .caption, "tag": .tag,
    "tags": .tag, "schlagwort": .tag, "person": .person, "people": .person, "personen": .person,
    "camera": .camera, "kamera": .camera, "lens": .lens, "objektiv": .lens,
  ]
  private static let otherFields: Set = [
    "date", "datum", "kind", "type", "art", "rating", "stars", "sterne", "place", "ort",
  ]

  static func isField(_ name: String) -> Bool {
    fields[name.lowercased()] != nil || otherFields.contains(name.lowercased())
  }

  private static func choices(
    in field: String, _ token: SearchToken, _ towns: PlaceTable?
  ) -> [Criterion] {
    if let field = fields[field] { return text(token.text, in: field, isWhole: token.isPhrase) }
    switch field {
    case "date", "datum":
      let date =
        SearchDate.month(token.text).map { SearchDate.month($0) } ?? SearchDate(token.text)
      return date.map { [.date($0)] } ?? []
    case "place", "ort": return place(token.text, isWhole: token.isPhrase, towns)
    case "kind", "type", "art": return kind(token.text).map { [$0] } ?? []
    default:
      guard let stars = Int8(token.text), -1...5 ~= stars, stars != 0 else { return [] }
      return [stars < 0 ? .rejected : .stars(stars)]
    }
  }

  // MARK: Kinds

  /// In English and German, in small letters without marks.
  private static let kinds: [(names: [String], kind: PhotoKinds)] = [
    (["photo", "photos", "foto", "fotos", "bild", "bilder"], .photo),
    (["video", "videos", "film", "filme", "films", "movie", "movies"], .video),
    (["raw", "raws", "rohbild", "rohbilder"], .raw),
    (["panorama", "panoramas", "panoramen", "pano"], .panorama),
    (["live", "livephoto", "livefoto"], .live),
    (["screenshot", "screenshots", "bildschirmfoto", "bildschirmfotos"], .screenshot),
    (["favourite", "favourites", "favorite", "favorites", "favorit", "favoriten"], .favourite),
  ]

  private static func kind(_ text: String) -> Criterion? {
    if !text.isEmpty, text.count <= 5, text.allSatisfy({ $0 == "★" }) {
      return .stars(Int8(text.count))
    }
    let word = String(decoding: SearchText.words(Array(text.utf8)), as: UTF8.self)
    if ["rejected", "verworfen"].contains(word) { return .rejected }
    return kinds.first { $0.names.contains(word) }.map { .kind($0.kind) }
  }
}
