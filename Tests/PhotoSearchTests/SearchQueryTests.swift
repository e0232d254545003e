import AlbumModel
import PhotoSearch
import Testing

/// What a person types finds the photos that they mean.
struct SearchQueryTests {
  /// A photo of a space, by what a search knows of it.
  private struct Sample {
    var name = "IMG_4032.JPG"
    var album = ["Trips", "Müritz 2020"]
    var facts = KnownFacts()

    init(_ change: (inout Sample) -> Void = { _ in }) { change(&self) }

    func isFound(by text: String) throws -> Bool {
      let name = try FileName(name)
      let words = SearchText(name: name, facts).bytes
      let album = SearchText(album: try album.map { try FileName($0) }).bytes
      return SearchQuery(text).finds(
        SearchQuery.Photo(
          text: words.span, album: album.span, clockSeconds: facts.taken?.clockSeconds ?? 0,
          kinds: PhotoKinds(name: name, facts), rating: facts.rating.map { Int8($0) } ?? 0))
    }
  }

  private static let beach = Sample {
    $0.facts.taken = CaptureTime(Array("2019-06-05T12:33:10".utf8))
    $0.facts.dimensions = PictureDimensions(width: 4000, height: 3000)
    $0.facts.camera = "Apple iPhone 15 Pro"
    $0.facts.lens = "EF24-70mm f/2.8L"
    $0.facts.caption = "Sunset at the beach, with José"
    $0.facts.tags = ["Familie", "Blue hour"]
    $0.facts.people = ["Anna Groß"]
    $0.facts.rating = 4
    $0.facts.isFavourite = true
  }

  @Test(
    "Any word of its texts finds a photo, however it is written",
    arguments: [
      "beach", "BEACH", "sun", "jose", "José", "muritz", "Müritz", "MU\u{308}RITZ", "trips",
      "iphone",
      "apple 15", "24-70", "f/2.8", "familie", "anna", "gross", "groß", "img_4032", "4032", "img",
      "jpg",
      "beach iphone muritz anna",
    ])
  func words(_ text: String) throws { #expect(try Self.beach.isFound(by: text)) }

  @Test(
    "What is nowhere, or only within a word, finds nothing",
    arguments: [
      "each", "unset", "mountain", "beach mountain", "032", "", "   ", "-", "-mountain beach snow",
      "\"\"",
    ])
  func otherWords(_ text: String) throws { #expect(try !Self.beach.isFound(by: text)) }

  @Test(
    "A phrase stands together and whole, and a minus excludes",
    arguments: [
      ("\"at the beach\"", true), ("\"the at\"", false), ("\"blue hour\"", true),
      ("\"blue hou\"", false),
      ("„Blue hour“", true), ("\"familie blue\"", false), ("beach -mountain", true),
      ("beach -anna", false), ("-\"blue hour\"", false), ("-\"blue sky\"", true), ("-video", true),
      ("-favourite", false),
    ])
  func phrases(_ text: String, _ isFound: Bool) throws {
    #expect(try Self.beach.isFound(by: text) == isFound)
  }

  @Test(
    "Dates are days, months, years and spans, in English and German",
    arguments: [
      ("2019", true), ("2018", false), ("june", true), ("Juni", true), ("jun", true),
      ("july", false),
      ("june 2019", true), ("2019 june", true), ("june 2018", false), ("2019-06", true),
      ("2019-07", false), ("2019-06-05", true), ("2019/06/05", true), ("2019-06-06", false),
      ("5.6.2019", true), ("05.06.2019", true), ("5.6.", true), ("6.5.2019", false),
      ("06.2019", true),
      ("june 5", true), ("5 June 2019", true), ("5. Juni 2019", true), ("June 5, 2019", true),
      ("5th june", true), ("june 6", false), ("2018..2020", true), ("2019-06..", true),
      ("..2019-05", false), ("2020..2018", false), ("date:2019", true), ("date:june", true),
      ("date:nonsense", false), ("märz", false), ("-2019", false), ("2019-02-30", false),
    ])
  func dates(_ text: String, _ isFound: Bool) throws {
    #expect(try Self.beach.isFound(by: text) == isFound)
  }

  @Test func numbersOfNamesAreFoundWithoutTheirZeros() throws {
    let photo = Sample { $0.name = "DSC01234.ARW" }
    for text in ["1234", "01234", "dsc01234", "dsc"] {
      #expect(try photo.isFound(by: text), "\(text)")
    }
    for text in ["234", "0234", "\"1234\""] { #expect(try !photo.isFound(by: text), "\(text)") }
  }

  @Test func aFieldIsAskedAlone() throws {
    for text in [
      "camera:iphone", "kamera:apple", "lens:24", "tag:familie", "person:anna", "album:muritz",
      "caption:sunset", "name:4032", "tag:\"blue hour\"", "rating:4", "rating:3", "stars:1", "★★★",
      "type:photo",
    ] {
      #expect(try Self.beach.isFound(by: text), "\(text)")
    }
    for text in [
      "camera:familie", "tag:anna", "person:beach", "album:img", "name:muritz", "rating:5", "★★★★★",
      "rejected", "rating:-1", "rating:many", "type:video", "type:nonsense",
    ] {
      #expect(try !Self.beach.isFound(by: text), "\(text)")
    }
    // A colon after any other word is a part of the text.
    #expect(try Sample { $0.facts.caption = "Re: garden" }.isFound(by: "re:garden"))
  }

  @Test func kindsAreFoundByTheirNames() throws {
    func size(_ width: Int, _ height: Int) -> Sample {
      Sample { $0.facts.dimensions = PictureDimensions(width: width, height: height) }
    }
    #expect(try Self.beach.isFound(by: "favourite") && Self.beach.isFound(by: "Favoriten"))
    #expect(try !Sample().isFound(by: "favorite"))
    #expect(try Sample { $0.name = "a.MOV" }.isFound(by: "video"))
    #expect(try Sample { $0.name = "a.MOV" }.isFound(by: "Filme"))
    #expect(try !Sample { $0.name = "a.MOV" }.isFound(by: "photo"))
    #expect(try Sample { $0.name = "a.CR3" }.isFound(by: "raw"))
    #expect(try Sample { $0.name = "Screenshot_2019.png" }.isFound(by: "bildschirmfoto"))
    #expect(try Sample { $0.name = "Bildschirmfoto vom 5. Mai.png" }.isFound(by: "screenshots"))
    #expect(try size(12_000, 3000).isFound(by: "panorama") && size(3000, 9000).isFound(by: "pano"))
    #expect(
      try !size(4032, 1960).isFound(by: "panorama") && !size(1080, 2400).isFound(by: "panorama"))
    #expect(try Sample { $0.facts.rating = -1 }.isFound(by: "verworfen"))
    // A word that names a kind is a word all the same.
    #expect(try Sample { $0.album = ["Live in Berlin"] }.isFound(by: "live"))
  }

  @Test func textsWithoutBlanksAreFoundWithinThem() throws {
    let photo = Sample { $0.facts.caption = "京都の桜" }
    #expect(try photo.isFound(by: "桜") && photo.isFound(by: "京都") && !photo.isFound(by: "東京"))
  }

  @Test func whatIsNoUTF8HarmsNothing() throws {
    let words = SearchText(name: try FileName([0xFF, 0x41, 0xE9]), KnownFacts()).bytes
    let query = SearchQuery("a")
    _ = query.finds(
      SearchQuery.Photo(
        text: words.span, album: [UInt8]().span, clockSeconds: .min, kinds: [], rating: 0))
    #expect(SearchQuery(String(repeating: "a b ", count: 10_000)).isEmpty == false)
  }
}
