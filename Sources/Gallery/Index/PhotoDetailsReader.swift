import AlbumModel
import FileKinds
import PictureMetadata
import Posix
import ThumbnailProtocol

/// Reads what a listing leaves out: dates of capture and sizes, which the file system keeps as extended
/// attributes, and else the shape of the thumbnail.
struct PhotoDetailsReader: ~Copyable {
  private let root: Folder
  private let album: SpaceIndex.Album

  init(_ root: consuming Folder, _ album: SpaceIndex.Album) {
    self.root = root
    self.album = album
  }

  /// The content with details.
  func read(isStopped: () -> Bool) -> AlbumContent {
    let content = album.found.content
    let path = album.found.path
    let thumb = try? Folder(path + [.thumb], below: root)
    var details = content.details
    for isDirect in [false, true] {
      guard let folder = try? Folder(path + (isDirect ? [] : [.photo]), below: root) else {
        continue
      }
      for place in 0..<content.count where content.direct[place] == isDirect {
        if details[place].isRead || content.kinds[place] == .other { continue }
        if isStopped() { return content.with(details) }
        details[place] = PhotoDetailsReader.details(of: content, place, in: folder, thumb)
      }
    }
    return content.with(details)
  }

  private static func details(
    of content: AlbumContent, _ place: Int, in folder: borrowing Folder, _ thumb: borrowing Folder?
  ) -> PhotoDetails {
    let name = content.name(place)
    let path = folder.path(of: name)
    var found = PhotoDetails()
    found.taken =
      ExtendedAttribute.value("user.albumfs.taken", of: path)
      .flatMap(KeptFacts.taken) ?? FileDate(in: name.bytes)?.time.clockSeconds
    found.isRead = true
    if let size = ExtendedAttribute.value("user.albumfs.dimensions", of: path)
      .flatMap(KeptFacts.dimensions)
    {
      (found.width, found.height) = size
    } else if content.thumbnails[place] != 0, let bytes = start(of: name, in: thumb),
      let size = PictureHeader.size(bytes)
    {
      (found.width, found.height) = size
    }
    if content.thumbnails[place] == 0 {
      let start = (try? folder.open(name))
        .flatMap { try? $0.bytes(ImageKind.sniffByteCount, at: 0) }
      found.isHopeless = start.map { ImageKind(sniffing: $0) == nil } ?? false
    }
    return found
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

/// The facts of a photo that the file system keeps as text, as the numbers of a listing.
enum KeptFacts {
  /// The date of capture in seconds since 1970. The camera's clock is read as if it showed UTC, so that days
  /// are those of the photographer.
  static func taken(_ text: [UInt8]) -> Int64? { CaptureTime(text)?.clockSeconds }

  static func dimensions(_ text: [UInt8]) -> (width: Int32, height: Int32)? {
    PictureDimensions(text).map { (Int32($0.width), Int32($0.height)) }
  }
}
