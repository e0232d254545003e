import AlbumModel
import FileKinds
import PhotoSearch
import PictureMetadata
import Posix
import ThumbnailProtocol

/// Reads what a listing leaves out: dates of capture, sizes, and what people say of photos, which the file
/// system has in one extended attribute, and else the shape of the thumbnail.
struct PhotoDetailsReader: ~Copyable {
  private let root: Folder
  private let album: SpaceIndex.Album

  init(_ root: consuming Folder, _ album: SpaceIndex.Album) {
    self.root = root
    self.album = album
  }

  /// The result of one reading of an album.
  struct Reading {
    let content: AlbumContent
    /// The number of photos and videos that got details.
    let count: Int
    /// True if all were looked at.
    let isWhole: Bool
  }

  /// The content with details of the first photos, or of all, as far as nothing stops it.
  func read(first limit: Int = .max, isStopped: () -> Bool) -> Reading {
    let content = album.found.content
    let path = album.found.path
    let thumb = try? Folder(path + [.thumb], below: root)
    var details = content.details
    var words: [Int: [UInt8]] = [:]
    var isWhole = limit >= content.count
    let places = 0..<min(limit, content.count)
    // Nearly all albums keep all photos in Photo.
    let inPhoto =
      places.contains { content.direct[$0] }
      ? Set((0..<content.count).filter { !content.direct[$0] }.map(content.name)) : []
    reading: for isDirect in [false, true] {
      guard let folder = try? Folder(path + (isDirect ? [] : [.photo]), below: root) else {
        continue
      }
      for place in places where content.direct[place] == isDirect {
        if details[place].isRead || content.kinds[place] == .other { continue }
        if isStopped() {
          isWhole = false
          break reading
        }
        let facts = PhotoDetailsReader.facts(of: content.name(place), in: folder)
        details[place] = PhotoDetailsReader.details(of: content, place, facts, in: folder, thumb)
        if isDirect, inPhoto.contains(content.name(place)) { details[place].isHopeless = true }
        words[place] = SearchText(name: content.name(place), facts).bytes
      }
    }
    let read = words.isEmpty ? content : content.with(details, words: words)
    return Reading(content: read, count: words.count, isWhole: isWhole)
  }

  /// The content with what ties films to photos, as far as time allows; nil if nothing is left to read.
  ///
  /// Names tell nearly all, and content is read last: a film that a name ties to a photo may be another
  /// one's.
  func readTies(isOver: () -> Bool) -> AlbumContent? {
    let content = album.found.content
    var ties: [Int: LiveTie] = [:]
    for place in content.untied {
      if isOver() { break }
      guard let folder = try? Folder(folder(place), below: root) else {
        ties[place] = LiveTie.none
        continue
      }
      ties[place] = LiveTie.read(of: content.name(place), in: folder)
    }
    return ties.isEmpty ? nil : content.with(ties)
  }

  private func folder(_ place: Int) -> [FileName] {
    album.found.path + (album.found.content.direct[place] ? [] : [.photo])
  }

  static func facts(of name: FileName, in folder: borrowing Folder) -> KnownFacts {
    ExtendedAttribute.value(KnownFacts.attribute, of: folder.path(of: name))
      .map { KnownFacts($0) } ?? KnownFacts()
  }

  private static func details(
    of content: AlbumContent, _ place: Int, _ facts: KnownFacts, in folder: borrowing Folder,
    _ thumb: borrowing Folder?
  ) -> PhotoDetails {
    let name = content.name(place)
    var found = PhotoDetails()
    // The camera's clock is read as if it showed UTC, so that days are those of the photographer.
    found.taken = facts.taken?.clockSeconds ?? FileDate(in: name.bytes)?.time.clockSeconds
    found.duration = facts.duration.map { Float($0.milliseconds) / 1000 } ?? 0
    found.rating = facts.rating.flatMap { Int8(exactly: $0) } ?? 0
    found.kinds = PhotoKinds(name: name, facts)
    if let place = facts.place { found.place = Places.table?.nearest(to: place) ?? 0 }
    found.isRead = true
    if let size = facts.dimensions {
      (found.width, found.height) = (Int32(size.width), Int32(size.height))
    } else if content.thumbnails[place] != 0, let bytes = start(of: name, in: thumb),
      let size = PictureHeader.size(bytes)
    {
      (found.width, found.height) = size
    }
    if content.thumbnails[place] == 0, let file = try? folder.open(name) {
      look(into: file, &found)
    }
    return found
  }

  /// What the content of a photo says that has no thumbnail yet: a page shows it in its shape at once.
  private static func look(into file: FolderFile, _ found: inout PhotoDetails) {
    guard let start = try? file.bytes(PictureHeader.originalByteCount, at: 0) else { return }
    found.isHopeless = ImageKind(sniffing: Array(start.prefix(ImageKind.sniffByteCount))) == nil
    if found.width > 0 { return }
    if let size = HEIFSize.upright(size: file.entry.size, { try? file.bytes($0, at: $1) }) {
      (found.width, found.height) = (Int32(size.width), Int32(size.height))
      return
    }
    guard let (width, height) = PictureHeader.size(start) else { return }
    let isSideways = PictureOrientation.isSideways(size: file.entry.size) {
      try? file.bytes($0, at: $1)
    }
    (found.width, found.height) = isSideways ? (height, width) : (width, height)
  }

  private static func start(of name: FileName, in thumb: borrowing Folder?) -> [UInt8]? {
    switch thumb {
    case .some(let thumb):
      guard let file = try? thumb.open(name) else { return nil }
      return try? file.bytes(PictureHeader.byteCount, at: 0)
    case .none: return nil
    }
  }
}
