import AlbumModel
import PhotoSearch

/// What somebody types into the search, and a photo whose texts are anything.
enum SearchTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      "june 2019 beach", "\"blue hour\" -video", "camera:nikon rating:4 2018..2020", "5. Juni raw",
      "2019-06.. ★★★★ tag:\"a b\"", "name: -\"",
    ].map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    let query = SearchQuery(String(decoding: bytes, as: UTF8.self))
    var text = SearchText()
    text.add(.caption, bytes)
    text.add(.tag, Array(bytes.reversed()))
    let (photo, album) = (text.bytes, SearchText().bytes)
    for seconds in [Int64.min, -1, 0, 1_560_000_000, .max] {
      let found = query.finds(
        SearchQuery.Photo(
          text: photo.span, album: album.span, clockSeconds: seconds, kinds: [], rating: 0))
      require(!(found && query.isEmpty), "a search for nothing finds nothing")
    }
  }
}
