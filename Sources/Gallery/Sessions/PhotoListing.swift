import AlbumModel
import HTTPTypes
import Hummingbird
import PhotoSearch
import Posix

/// Which photos a listing has, and in which order.
enum PhotoView {
  case album(SpaceIndex.Album, Order)
  case all, recent, date
  case found(SearchQuery, text: String)
  /// What was taken near a town, by its number.
  case place(UInt16)

  /// The order of an album: by name, by date with the oldest or the newest first, or with those first whose
  /// files are newest.
  enum Order: String {
    case name, oldest, newest, added
  }

  /// The albums that the first photos of the listing are in; nil if these may be in any.
  func albums(ofFirst count: Int, _ index: SpaceIndex) -> [UInt64]? {
    switch self {
    case .album(let album, _): [album.found.inode]
    case .all: index.albums(ofFirst: count)
    case .recent, .date, .found, .place: nil
    }
  }

  /// How many photos of those albums come before the others.
  func photos(ofFirst count: Int) -> Int {
    switch self {
    case .all, .album(_, .name): count
    case .album, .recent, .date, .found, .place: .max
    }
  }

  init(_ request: Request, _ session: Session) throws(GalleryError) {
    if let id = request.query("album") {
      let order = request.query("sort").map { Order(rawValue: $0) } ?? .name
      guard let order else { throw GalleryError(.invalid) }
      self = .album(try session.album(id), order)
      return
    }
    if let text = request.query("search") {
      self = .found(SearchQuery(text, towns: Places.table), text: text)
      return
    }
    if let text = request.query("place") {
      guard let town = UInt16(text), town > 0 else { throw GalleryError(.invalid) }
      self = .place(town)
      return
    }
    switch request.query("view") {
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
    case .album(let album, let order): "\(album.found.inode) \(order)"
    case .all: "all"
    case .recent: "recent"
    case .date: "date"
    case .found(_, let text): "search \(text)"
    case .place(let town): "place \(town)"
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
  /// How many are videos, and how many neither photos nor videos.
  private var videos = 0
  private var others = 0

  init(_ session: Session, _ view: PhotoView) {
    // A listing that its session keeps must not keep the session.
    let ids = session.ids
    id = { ids.id($0) }
    let index = session.space.index
    let hidden = index.hidden
    let all = index.albums()
    revision = all.revision
    if case .album(let album, _) = view { albums = [album] } else { albums = all.albums }
    for (number, album) in albums.enumerated() {
      let content = album.found.content
      let words = SearchText(album: album.found.path).bytes
      content.eachShown(without: hidden) { row in
        if case .found(let query, _) = view, !content.isFound(row, by: query, album: words.span) {
          return
        }
        if case .place(let town) = view, content.town(row) != town { return }
        if content.kinds[row] == .video { videos += 1 }
        if content.kinds[row] == .other { others += 1 }
        let key = PhotoListing.key(content, row, view)
        places.append(Place(album: Int32(number), row: Int32(row), key: key))
      }
    }
    // Those of one time stay in the order of their names.
    switch view {
    case .album(_, .oldest): places.sort { ($0.key, $0.row) < ($1.key, $1.row) }
    case .recent, .date, .found, .place, .album(_, .newest), .album(_, .added):
      places.sort { ($1.key, $0.album, $0.row) < ($0.key, $1.album, $1.row) }
    case .album(_, .name), .all: break
    }
  }

  private static func key(_ content: AlbumContent, _ row: Int, _ view: PhotoView) -> Int64 {
    switch view {
    case .recent, .album(_, .added): content.modified[row]
    case .date, .found, .place, .album(_, .oldest), .album(_, .newest):
      content.details[row].taken ?? content.modified[row]
    case .album(_, .name), .all: 0
    }
  }

  func response(_ slice: Range<Int>) -> Response {
    let places = places[slice.clamped(to: places.indices)]
    var text = JSONText()
    text.object { text in
      text.field("revision", Int64(revision))
      text.field("count", Int64(self.places.count))
      text.field("videos", Int64(videos))
      text.field("others", Int64(others))
      column("id", places, &text) { $0.value(id($1.inodes[$2])) }
      column("name", places, &text) { $0.value($1.name($2).text) }
      column("kind", places, &text) { $0.value($1.kinds[$2].name) }
      column("width", places, &text) {
        $0.value(Int64($1.details[PhotoListing.sized($1, $2)].width))
      }
      column("height", places, &text) {
        $0.value(Int64($1.details[PhotoListing.sized($1, $2)].height))
      }
      column("taken", places, &text) { $0.value($1.details[$2].taken) }
      column("modified", places, &text) { $0.value($1.modified[$2]) }
      column("size", places, &text) { $0.value($1.sizes[$2]) }
      text.field("album", each: places) {
        $0.value(id(albums[Int($1.album)].found.inode))
      }
      column("duration", places, &text) { $0.value(PhotoListing.duration($1.details[$2])) }
      column("favourite", places, &text) {
        $0.value(Int64($1.isFavourite($2) ? 1 : 0))
      }
      column("group", places, &text) { $0.value(PhotoListing.signs($1, $2)) }
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

  /// What a tile says of the files behind it: 1 if there are some, and 2 for a film that plays, 4 for a raw
  /// file with its picture, 8 for an edited form.
  private static func signs(_ content: AlbumContent, _ row: Int) -> Int64 {
    let live: Int64 = content.isLive(row) ? 2 : 0
    guard let group = content.groups.group(of: row) else { return live }
    return live + 1 + (group.isRawAndPicture ? 4 : 0) + (group.isEdited ? 8 : 0)
  }

  /// Whole seconds, so that a listing stays short.
  private static func duration(_ details: PhotoDetails) -> Int64 {
    Int64(clamping: Int((details.duration).rounded(.up)))
  }

  /// A photo without a thumbnail that has not changed for so long waits for none: its decoding failed.
  private static let patience = Duration.seconds(86_400)

  /// The file whose size is that of the tile.
  private static func sized(_ content: AlbumContent, _ row: Int) -> Int {
    content.details[row].width > 0 ? row : content.face(row)
  }

  /// A new thumbnail is a new inode.
  static func thumb(_ content: AlbumContent, _ place: Int) -> Int64 {
    let row = content.face(place)
    if content.thumbnails[row] != 0 { return Int64(content.thumbnails[row] & 0xF_FFFF_FFFF_FFFF) }
    let isWaiting =
      content.kinds[row] == .photo && !content.details[row].isHopeless
      && Timestamp(nanoseconds: content.row(row).changed) > SystemClock.wall() - patience
    return isWaiting ? 0 : -1
  }
}
