import AlbumModel
import ControlProtocol
import FoundationEssentials
import Posix

/// A mounted space that sessions use. It is opened anew for each call, so that the gallery keeps nothing busy
/// that the user wants to unmount; and each time it is made sure that the space is still what is there, so
/// that nothing is written into the bare directory.
final class MountedSpace: Sendable {
  let entry: MountEntry
  /// True if the gallery made the mount, and so unmounts it.
  let isOwn: Bool
  /// The long edge of thumbnails.
  let thumbnailEdge: Int

  init(_ found: GalleryMount) throws(Errno) {
    guard let entry = MountTable.mount(at: found.mountPoint),
      entry.type == FileSystemType.albumfs
    else { throw .notConnected }
    self.entry = entry
    isOwn = found.isNew
    thumbnailEdge = MountedSpace.description(of: entry)?.thumbnailEdge ?? 512
  }

  private static func description(of entry: MountEntry) -> MountDescription? {
    guard let client = try? ControlClient(entry),
      case .description(let description)? =
        try? client.ask(.describe)
    else { return nil }
    return description
  }

  /// The root of the space. Throws `.notConnected` if it is not mounted any more.
  func root() throws(Errno) -> Folder {
    let root: Folder
    do throws(Errno) { root = try Folder(entry.mountPoint) } catch {
      throw error == .noEntry ? .notConnected : error
    }
    if root.device != entry.device { throw .notConnected }
    return root
  }

  /// False when another program has unmounted it.
  var isMounted: Bool {
    do throws(Errno) { _ = try root() } catch { return error != .notConnected }
    return true
  }

  /// A directory of the space.
  func folder(_ path: [FileName]) throws(Errno) -> Folder { try Folder(path, below: try root()) }

  /// Opens a file of the space for reading.
  func open(_ name: FileName, in path: [FileName]) throws(Errno) -> FolderFile {
    try folder(path).open(name)
  }

  /// Returns when everything that was closed before is on disk.
  func barrier() throws(Failure) {
    let reply = try ControlClient(entry).ask(.barrier)
    if case .failed(let failure) = reply { throw failure }
  }

  /// A photo at most `edge` pixels long, decoded by the daemon's cell.
  func preview(_ photo: SpaceIndex.Photo, edge: Int) throws -> [UInt8] {
    try folder(photo.folder).require(photo.row.name, is: photo.row.inode)
    let bytes = (photo.folder + [photo.row.name]).map(\.bytes).joined(separator: [UInt8(ascii: "/")]
    )
    switch try ControlClient(entry).ask(.preview(path: Array(bytes), edge: edge)) {
    case .picture(let text):
      return try MountedSpace.bytes(ofPicture: text)
    case .failed(let failure):
      switch failure.kind {
      case .damaged: throw GalleryError(.damaged)
      case .busy, .timedOut: throw GalleryError(.busy)
      default: throw GalleryError(.unknown, "There is no preview of this file.")
      }
    default: throw GalleryError(.failed)
    }
  }

  static func bytes(ofPicture text: String) throws(GalleryError) -> [UInt8] {
    guard let picture = Data(base64Encoded: text) else { throw GalleryError(.failed) }
    return Array(picture)
  }
}
