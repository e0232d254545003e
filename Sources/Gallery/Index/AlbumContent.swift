import AlbumModel
import PhotoGroups
import PhotoSearch
import PictureMetadata

/// The details of a photo beyond its directory entry. The index reads them after the listing.
struct PhotoDetails: Sendable, Equatable {
  /// Seconds since 1970, as if the camera's clock showed UTC; nil if the photo does not say.
  var taken: Int64?
  /// Upright; 0 where unknown.
  var width: Int32 = 0
  var height: Int32 = 0
  /// Of a video, in seconds; 0 where unknown.
  var duration: Float = 0
  /// Stars from 1 to 5, -1 for a photo that was rejected, 0 for one without a rating.
  var rating: Int8 = 0
  var kinds: PhotoKinds = []
  /// The number of the nearest town in the table of places; 0 where none is near.
  var place: UInt16 = 0
  /// True if there will be no thumbnail.
  var isHopeless = false
  /// True if the index has looked for them.
  var isRead = false
}

/// One file of an album, while it is looked at.
struct PhotoRow: Sendable {
  var name: FileName
  var inode: UInt64
  var size: Int64
  /// Seconds since 1970.
  var modified: Int64
  /// When the content or an attribute changed, in nanoseconds since 1970.
  var changed: Int64
  /// True if it lies in the album itself and not in its Photo.
  var isDirect: Bool
  /// The inode of its thumbnail; 0 if there is none yet.
  var thumbnail: UInt64
  var kind: MediaKind
  var details = PhotoDetails()
  var tie = LiveTie.unread
  /// What a search looks through; empty if it is the name alone.
  var words: [UInt8] = []
}

/// The files of one album in the order of their names, in flat arrays: 100,000 photos take about 16 MB.
final class AlbumContent: Sendable {
  let count: Int
  private let names: [UInt8]
  /// Where each name ends.
  private let ends: [UInt32]
  let inodes: [UInt64]
  let sizes: [Int64]
  /// Seconds since 1970.
  let modified: [Int64]
  /// When content or attributes changed, in nanoseconds since 1970. Listings do not show it.
  private let changes: [Int64]
  let direct: [Bool]
  let thumbnails: [UInt64]
  let kinds: [MediaKind]
  let details: [PhotoDetails]
  private let ties: [LiveTie]
  /// What belongs together.
  let groups: FileGroups
  /// The texts of all photos for a search, as `SearchText` has them, and where each ends.
  private let words: [UInt8]
  private let wordEnds: [UInt32]
  /// The places of the inodes in ascending order of these.
  private let byInode: [UInt32]
  /// True if the details of all photos and videos are read.
  let isDetailed: Bool
  /// The same for the first photos and videos.
  func isDetailed(first count: Int) -> Bool {
    isDetailed
      || (0..<min(count, self.count)).allSatisfy { details[$0].isRead || kinds[$0] == .other }
  }
  /// True if a photo may get a thumbnail yet.
  let isWaiting: Bool

  static let empty = AlbumContent([])

  convenience init(_ rows: [PhotoRow]) {
    let sorted = rows.sorted { NaturalOrder.precedes($0.name.bytes[...], $1.name.bytes[...]) }
    self.init(sorted: sorted, AlbumContent.groups(of: sorted))
  }

  private static func groups(of rows: [PhotoRow]) -> FileGroups {
    FileGroups(rows.map(\.name), isDirect: rows.map(\.isDirect)) { rows[$0].tie }
  }

  private init(sorted rows: [PhotoRow], _ groups: FileGroups) {
    self.groups = groups
    count = rows.count
    var (names, ends) = ([UInt8](), [UInt32]())
    for row in rows {
      names += row.name.bytes
      ends.append(UInt32(names.count))
    }
    self.names = names
    self.ends = ends
    inodes = rows.map(\.inode)
    sizes = rows.map(\.size)
    modified = rows.map(\.modified)
    changes = rows.map(\.changed)
    direct = rows.map(\.isDirect)
    thumbnails = rows.map(\.thumbnail)
    kinds = rows.map(\.kind)
    (words, wordEnds) = AlbumContent.words(of: rows)
    details = AlbumContent.details(of: rows, groups)
    ties = rows.map(\.tie)
    byInode = rows.indices.sorted { rows[$0].inode < rows[$1].inode }.map { UInt32($0) }
    isDetailed = rows.allSatisfy { $0.details.isRead || $0.kind == .other }
    isWaiting = rows.contains {
      $0.kind == .photo && $0.thumbnail == 0 && !$0.details.isHopeless
    }
  }

  private static func words(of rows: [PhotoRow]) -> ([UInt8], [UInt32]) {
    var (words, ends) = ([UInt8](), [UInt32]())
    for row in rows {
      words += row.words.isEmpty ? SearchText(name: row.name).bytes : row.words
      ends.append(UInt32(words.count))
    }
    return (words, ends)
  }

  /// The details of each photo; those of one whose details are not read yet are what its name says.
  private static func details(of rows: [PhotoRow], _ groups: FileGroups) -> [PhotoDetails] {
    var all = rows.map { row in
      var details = row.details
      if !details.isRead { details.kinds.formUnion(PhotoKinds(name: row.name, KnownFacts())) }
      details.kinds.remove(.live)
      if row.tie == .holdsFilm { details.kinds.insert(.live) }
      if row.kind == .video { details.kinds.insert(.video) }
      return details
    }
    for group in groups.all where group.isLive {
      for member in group.members {
        if member.part.isPicture { all[member.place].kinds.insert(.live) }
        // It is found as the photo that it belongs to, and not as a film.
        if rows[member.place].kind == .video { all[member.place].kinds.remove(.video) }
      }
    }
    return all
  }

  private func wordRange(_ place: Int) -> Range<Int> {
    (place == 0 ? 0 : Int(wordEnds[place - 1]))..<Int(wordEnds[place])
  }

  /// True if a search finds the photo: in what all its files say together.
  func isFound(_ place: Int, by query: SearchQuery, album: Span<UInt8>) -> Bool {
    let words = words
    guard let members = groups.group(of: place)?.members else {
      let text = words.span.extracting(wordRange(place))
      return isFound(place, text, details[place].kinds, query, album)
    }
    let all = members.map(\.place)
    let text = Array(all.map { words[wordRange($0)] }.joined())
    let kinds = all.reduce(into: PhotoKinds()) { $0.formUnion(details[$1].kinds) }
    return isFound(groups.leader(of: place), text.span, kinds, query, album)
  }

  private func isFound(
    _ place: Int, _ text: Span<UInt8>, _ kinds: PhotoKinds, _ query: SearchQuery,
    _ album: Span<UInt8>
  ) -> Bool {
    let details = details[place]
    let photo = SearchQuery.Photo(
      text: text, album: album, clockSeconds: details.taken ?? modified[place], kinds: kinds,
      rating: details.rating, place: town(place))
    return query.finds(photo)
  }

  /// The file whose thumbnail shows a photo: itself, or a picture that belongs to it where it has no
  /// thumbnail, as a raw picture that nothing decodes.
  func face(_ place: Int) -> Int {
    if thumbnails[place] != 0 || kinds[place] != .photo { return place }
    let pictures = groups.group(of: place)?.members.filter { kinds[$0.place] == .photo } ?? []
    return pictures.first { thumbnails[$0.place] != 0 }?.place ?? place
  }

  /// The number of the town near which the photo was taken, or else one of the files that belong to it.
  func town(_ place: Int) -> UInt16 {
    guard let members = groups.group(of: place)?.members else { return details[place].place }
    return members.lazy.map { self.details[$0.place].place }.first { $0 > 0 } ?? 0
  }

  /// True if a person marked the photo, or one of the files that belong to it.
  func isFavourite(_ place: Int) -> Bool {
    guard let members = groups.group(of: place)?.members else {
      return details[place].kinds.contains(.favourite)
    }
    return members.contains { details[$0.place].kinds.contains(.favourite) }
  }

  /// How many photos with all that belongs to them are shown, how many of them are videos, and how many
  /// neither photos nor videos.
  func counts(without hidden: Set<UInt64>) -> (all: Int, videos: Int, others: Int) {
    var counts = (all: 0, videos: 0, others: 0)
    eachShown(without: hidden) { place in
      counts.all += 1
      if kinds[place] == .video { counts.videos += 1 }
      if kinds[place] == .other { counts.others += 1 }
    }
    return counts
  }

  /// Calls `body` with the file that shows each photo, in the order of their names.
  func eachShown(without hidden: Set<UInt64>, _ body: (Int) -> Void) {
    groups.eachShown({ !hidden.isEmpty && hidden.contains(inodes[$0]) }, body)
  }

  func nameBytes(_ place: Int) -> ArraySlice<UInt8> {
    names[(place == 0 ? 0 : Int(ends[place - 1]))..<Int(ends[place])]
  }

  func name(_ place: Int) -> FileName { FileName(known: Array(nameBytes(place))) }

  /// The place of an inode; nil if it is not here.
  func place(of inode: UInt64) -> Int? {
    let at = byInode.partitioningIndex { inodes[Int($0)] >= inode }
    guard at < byInode.count, inodes[Int(byInode[at])] == inode else { return nil }
    return Int(byInode[at])
  }

  func row(_ place: Int) -> PhotoRow {
    PhotoRow(
      name: name(place), inode: inodes[place], size: sizes[place], modified: modified[place],
      changed: changes[place], isDirect: direct[place], thumbnail: thumbnails[place],
      kind: kinds[place],
      details: details[place], tie: ties[place], words: Array(words[wordRange(place)]))
  }

  /// True if a listing of both is the same.
  func equals(_ other: AlbumContent) -> Bool {
    names == other.names && ends == other.ends && inodes == other.inodes && sizes == other.sizes
      && modified == other.modified && direct == other.direct && thumbnails == other.thumbnails
      && details == other.details && words == other.words && groups == other.groups
  }

  /// The files that names tie to each other, and whose ties are not read yet.
  var untied: [Int] {
    let motion = (0..<count).filter {
      ties[$0] == .unread && kinds[$0] == .photo && MotionPhoto.isNamed(Array(nameBytes($0)))
    }
    return motion + groups.all.flatMap(untied(of:))
  }

  func untied(of group: FileGroups.Group) -> [Int] {
    if !group.isLive { return [] }
    return group.members.filter { $0.part != .sidecar && ties[$0.place] == .unread }.map(\.place)
  }

  func tie(_ place: Int) -> LiveTie { ties[place] }

  /// True of a photo that has the film of its moment, beside it or inside it.
  func isLive(_ place: Int) -> Bool {
    details[place].kinds.contains(.live) && kinds[place] == .photo
  }

  /// The same files with ties that were read.
  func with(_ ties: [Int: LiveTie]) -> AlbumContent {
    var rows = (0..<count).map(row)
    for (place, tie) in ties { rows[place].tie = tie }
    return AlbumContent(sorted: rows, AlbumContent.groups(of: rows))
  }

  /// The details that are still true: of files with the same content and the same thumbnail. Where an
  /// attribute or the name, which may have a date, has changed, they stay until they are read again.
  func withDetails(from old: AlbumContent) -> AlbumContent {
    if old.count == 0 { return self }
    var rows = (0..<count).map(row)
    var hasTies = false
    for place in rows.indices {
      guard let before = old.place(of: rows[place].inode),
        old.sizes[before] == rows[place].size, old.modified[before] == rows[place].modified
      else { continue }
      rows[place].tie = old.ties[before]
      hasTies = hasTies || rows[place].tie.identifier != nil
      guard old.thumbnails[before] == rows[place].thumbnail else { continue }
      rows[place].details = old.details[before]
      let hasName = old.name(before) == rows[place].name
      rows[place].words = hasName ? Array(old.words[old.wordRange(before)]) : []
      if old.changes[before] != rows[place].changed || !hasName {
        rows[place].details.isRead = false
      }
    }
    return AlbumContent(sorted: rows, hasTies ? AlbumContent.groups(of: rows) : groups)
  }

  /// The same files with other details, and other texts of those that have some.
  func with(_ details: [PhotoDetails], words: [Int: [UInt8]]) -> AlbumContent {
    var rows = (0..<count).map(row)
    for place in rows.indices { rows[place].details = details[place] }
    for (place, words) in words { rows[place].words = words }
    return AlbumContent(sorted: rows, groups)
  }
}
