import AlbumModel
import PhotoSearch
import Testing

/// A person finds photos by the towns near which they were taken.
struct PlaceTests {
  private static func line(
    _ name: String, _ others: String, _ latitude: String, _ longitude: String, _ country: String,
    people: Int
  ) -> String {
    [
      "1", name, name, others, latitude, longitude, "P", "PPL", country, "", "", "", "", "",
      "\(people)", "",
    ]
    .joined(separator: "\t")
  }

  private static let towns = [
    line("Paris", "Lutece,Parigi,Париж", "48.85341", "2.3488", "FR", people: 2_138_551),
    line("Neuilly-sur-Seine", "", "48.8846", "2.26965", "FR", people: 61_300),
    line("Versailles", "", "48.80359", "2.13424", "FR", people: 85_416),
    line("Chartres", "", "48.44685", "1.48925", "FR", people: 38_000),
    line("Paris", "PRX", "33.66094", "-95.55551", "US", people: 25_171),
    line("Tripoli", "Tripolis", "32.88743", "13.18733", "LY", people: 1_150_989),
    line(
      "München", "Muenchen,Munich,Monaco di Baviera", "48.13743", "11.57549", "DE",
      people: 1_260_391),
    line("Suva", "", "-18.14161", "178.44149", "FJ", people: 77_366),
    line("Waiyevo", "", "-16.78947", "-179.98881", "FJ", people: 15_000),
    line("Longyearbyen", "", "78.22334", "15.64689", "SJ", people: 2_060),
  ]
  private static let countries = """
    # ISO
    FR\tFRA\t250\tFR\tFrance\tParis
    US\tUSA\t840\tUS\tUnited States\tWashington
    DE\tDEU\t276\tGM\tGermany\tBerlin
    """

  private static let table = PlaceTable(
    towns: Array(towns.joined(separator: "\n").utf8), countries: Array(countries.utf8))

  private func isFound(_ words: String, at place: String) throws -> Bool {
    let table = try #require(Self.table)
    let text = SearchText(name: try FileName(Array("IMG_1.JPG".utf8))).bytes
    let album = SearchText(album: []).bytes
    return SearchQuery(words, towns: table).finds(
      SearchQuery.Photo(
        text: text.span, album: album.span, clockSeconds: 0, kinds: .photo, rating: 0,
        place: table.nearest(to: try #require(GeographicPlace(place)))))
  }

  private func name(_ place: String) throws -> String? {
    Self.table?.name(near: try #require(GeographicPlace(place)))
  }

  @Test func aPlaceHasTheNameOfTheNearestTown() throws {
    #expect(try name("48.8584,2.2945") == "Paris, France", "a suburb's middle is nearer")
    #expect(try name("48.88,2.27") == "Neuilly-sur-Seine, France")
    #expect(try name("48.6,1.8") == "Chartres, France", "in the country")
    #expect(try name("48.8049,2.1204") == "Versailles, France")
    #expect(try name("33.7,-95.5") == "Paris, United States")
    #expect(try name("45.0,-30.0") == nil, "in the ocean")
    #expect(try name("-16.8,179.9") == "Waiyevo", "beyond the line of the date")
    #expect(try name("78.2,16.5") == "Longyearbyen", "where degrees are short")
    for pole in ["90,0", "-90,180", "0,-180"] { #expect(try name(pole) == nil, "\(pole)") }
  }

  @Test(
    "Words find what was taken in a town or near it",
    arguments: [
      ("paris", "48.8584,2.2945", true), ("PARIS", "48.8049,2.1204", true),
      ("versailles", "48.8049,2.1204", true), ("paris", "48.44685,1.48925", false),
      ("versailles", "48.8584,2.2945", false), ("parigi", "48.8584,2.2945", true),
      ("france", "48.44685,1.48925", true), ("france", "33.66,-95.55", false),
      ("paris united", "33.66,-95.55", true), ("münchen", "48.14,11.58", true),
      ("muenchen", "48.14,11.58", true), ("munich img", "48.14,11.58", true),
      ("\"monaco di baviera\"", "48.14,11.58", true), ("trip", "32.88,13.18", false),
      ("tripoli", "32.88,13.18", true), ("place:trip", "32.88,13.18", true),
      ("ort:mün", "48.14,11.58", true), ("place:img", "48.14,11.58", false),
      ("-place:paris", "48.8584,2.2945", false), ("-paris", "48.14,11.58", true),
      ("paris", "45.0,-30.0", false),
    ])
  func search(_ words: String, _ place: String, _ isFound: Bool) throws {
    #expect(try self.isFound(words, at: place) == isFound)
  }

  @Test func withoutNamesWordsFindWhatTheyFoundBefore() throws {
    let text = SearchText(name: try FileName(Array("paris.jpg".utf8))).bytes
    let album = SearchText(album: []).bytes
    for (words, isFound) in [("paris", true), ("place:paris", false), ("-place:paris", true)] {
      let photo = SearchQuery.Photo(
        text: text.span, album: album.span, clockSeconds: 0, kinds: .photo, rating: 0)
      #expect(SearchQuery(words).finds(photo) == isFound, "\(words)")
    }
  }

  @Test func linesThatAreNoTownsAreSkipped() throws {
    let wrong = [
      "", "\t\t\t", "text", Self.line("", "", "1", "1", "FR", people: 1),
      Self.line("North", "", "91", "0", "FR", people: 1),
      Self.line("Nowhere", "", "nan", "0", "FR", people: 1),
    ]
    let file = wrong.joined(separator: "\n")
    #expect(PlaceTable(towns: Array(file.utf8), countries: []) == nil)
    let mixed = (wrong + [Self.towns[2]] + wrong).joined(separator: "\n")
    let table = try #require(PlaceTable(towns: Array(mixed.utf8), countries: [0xFF, 9, 9, 9, 9]))
    #expect(
      table.name(of: 1) == "Versailles" && table.name(of: 2) == nil && table.name(of: 0) == nil)
  }
}
