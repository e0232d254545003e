import AlbumModel
import ControlProtocol
import FileKinds
import PictureMetadata
import Posix

/// Walks the albums of a mounted space, or one of them. The rules of albums are those of Albums.md.
enum PhotoWalk {
  /// A folder with photos: an album, its Photo, or a folder in that.
  struct Place {
    fileprivate let mountPoint: String
    /// From the root of the space.
    let path: [FileName]
    let album: [FileName]
    /// True for an album or the root, in which other directories are albums.
    fileprivate let holdsAlbums: Bool

    func file(_ name: FileName) -> PlainPath {
      (path + [name]).reduce(PlainPath(mountPoint)) { $0.appending($1) }
    }

    /// Opens the folder again.
    func open() throws(Errno) -> Folder { try Folder(path, below: Folder(mountPoint)) }
  }

  /// What Apple writes into both parts of a Live Photo; nil if the file has none.
  static func identifier(of name: FileName, in folder: borrowing Folder) -> String? {
    guard let file = try? folder.open(name) else { return nil }
    return LivePhoto.identifier(size: file.entry.size) { try? file.bytes($0, at: $1) }
  }

  /// Throws if a place shows the past of a space, which nothing can change.
  static func requirePresent(_ typed: String) throws(Failure) {
    let first = try MountPath.find(typed).inside.split(separator: "/").first
    guard let first, FileName.snapshots.bytes.elementsEqual(first.utf8) else { return }
    throw Failure(
      .usage,
      "\(typed) shows what the space had earlier: nothing can be removed there, and each photo is there as often "
        + "as there are snapshots. Name the mount point, or an album in it.")
  }

  /// Calls `body` with each folder and the names of the files in it, in their order and without hidden ones.
  /// Throws if the place is no album and no mount point.
  static func folders(
    in typed: String, _ body: (borrowing Folder, Place, [FileName]) -> Void
  ) throws(Failure) {
    let (mount, inside) = try MountPath.find(typed)
    let names = inside.split(separator: "/").compactMap { try? FileName(Array($0.utf8)) }
    if names.contains(.thumb) { throw Failure(.usage, "\(typed) is no album.") }
    do throws(Errno) {
      try walk(Folder(mount.mountPoint), mount.mountPoint, names, body)
    } catch {
      throw Failure(.usage, "\(typed) cannot be read: \(error)")
    }
  }

  private static func walk(
    _ root: borrowing Folder, _ mountPoint: String, _ names: [FileName],
    _ body: (borrowing Folder, Place, [FileName]) -> Void
  ) throws(Errno) {
    _ = try Folder(names, below: root)
    let photo = names.firstIndex(of: .photo)
    let album = Array(names[..<(photo ?? names.count)])
    var waiting = [
      Place(mountPoint: mountPoint, path: names, album: album, holdsAlbums: photo == nil)
    ]
    while let place = waiting.popLast() {
      // Another program may remove it meanwhile.
      guard let folder = try? Folder(place.path, below: root), let inside = try? folder.names()
      else { continue }
      let sorted = inside.sorted { $0.name < $1.name }
      for name in sorted.reversed() {
        if let next = step(into: name, of: folder, from: place) { waiting.append(next) }
      }
      body(folder, place, sorted.filter { $0.kind == .file && !$0.name.isHidden }.map(\.name))
    }
  }

  private static func step(
    into name: Folder.Name, of folder: borrowing Folder, from place: Place
  ) -> Place? {
    guard name.kind == .directory, !name.name.isHidden, name.name != .thumb || !place.holdsAlbums
    else { return nil }
    if Leftover.isFolder(name.name.bytes) {
      // An album that got such a name has its photos' directory.
      if !place.holdsAlbums || !folder.holds(.photo, in: name.name) { return nil }
    }
    let path = place.path + [name.name]
    let isPhoto = !place.holdsAlbums || (name.name == .photo && !place.path.isEmpty)
    return Place(
      mountPoint: place.mountPoint, path: path, album: isPhoto ? place.album : path,
      holdsAlbums: !isPhoto)
  }
}
