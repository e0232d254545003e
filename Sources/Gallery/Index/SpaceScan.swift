import AlbumModel
import FileKinds
import Posix

/// An album as one walk found it.
struct FoundAlbum: Sendable {
  var inode: UInt64
  var parent: UInt64?
  /// From the root of the space.
  var path: [FileName]
  /// Seconds since 1970.
  var modified: Int64
  /// The latest time of its directories, as of before they were read.
  var latest: Timestamp
  /// The name of the photo that shows it.
  var cover: [UInt8]?
  var content: AlbumContent
}

/// Reads the directories of a mounted space. The rules of albums are those of Albums.md: every directory is
/// an album whose name has no dot in front; its photos lie in Photo and in itself.
struct SpaceScan: ~Copyable {
  let root: Folder

  /// Finds all albums.
  func everything() throws(Errno) -> (root: UInt64, albums: [FoundAlbum]) {
    var found: [FoundAlbum] = []
    let top = try root.status().file.inode
    for name in try SpaceScan.albums(in: root) { try add(to: &found, [name.name], nil) }
    return (top, found)
  }

  /// One album, without the albums in it but with their names.
  func album(_ path: [FileName], parent: UInt64?) throws(Errno)
    -> (album: FoundAlbum, albums: [Folder.Name])
  {
    let folder = try Folder(path, below: root)
    let status = try folder.status()
    var rows: [PhotoRow] = []
    var latest = status.modified
    let own = try folder.names()
    try SpaceScan.addFiles(of: folder, own, direct: true, &rows)
    try SpaceScan.unlessGone { () throws(Errno) in
      let photo = try Folder(path + [.photo], below: root)
      latest = max(latest, try photo.status().modified)
      try SpaceScan.addFiles(of: photo, try photo.names(), direct: false, &rows)
    }
    try SpaceScan.unlessGone { () throws(Errno) in
      latest = max(latest, try addThumbnails(path, &rows))
    }
    let found = FoundAlbum(
      inode: status.file.inode, parent: parent, path: path, modified: status.modified.seconds,
      latest: latest,
      cover: ExtendedAttribute.value("user.albumfs.cover", of: folder.path),
      content: AlbumContent(rows))
    return (found, SpaceScan.albums(inAlbum: folder, own))
  }

  /// Adds an album and all in it, each album before those in it.
  func add(to found: inout [FoundAlbum], _ path: [FileName], _ parent: UInt64?) throws(Errno) {
    var waiting = [(path: path, parent: parent)]
    while let next = waiting.popLast() {
      let read: (album: FoundAlbum, albums: [Folder.Name])
      do throws(Errno) { read = try album(next.path, parent: next.parent) } catch {
        // Another program has removed it meanwhile.
        if SpaceScan.isGone(error) { continue }
        throw error
      }
      found.append(read.album)
      for child in read.albums.reversed() {
        waiting.append((next.path + [child.name], read.album.inode))
      }
    }
  }

  /// True of what opening a directory throws where another program removed it, or put something else there,
  /// such as a link.
  static func isGone(_ error: Errno) -> Bool {
    [.noEntry, .notDirectory, .tooManySymlinks].contains(error)
  }

  /// Reads a directory of an album, which may have none.
  private static func unlessGone(_ read: () throws(Errno) -> Void) throws(Errno) {
    do throws(Errno) { try read() } catch { if !isGone(error) { throw error } }
  }

  /// The albums in a directory that is the root.
  static func albums(in folder: borrowing Folder) throws(Errno) -> [Folder.Name] {
    var albums: [Folder.Name] = []
    for name in try folder.names() where isAlbum(name, in: folder) { albums.append(name) }
    return albums
  }

  /// The albums in an album, which has directories for its photos and thumbnails beside them.
  private static func albums(inAlbum folder: borrowing Folder, _ names: [Folder.Name]) -> [Folder
    .Name]
  {
    var albums: [Folder.Name] = []
    for name in names where name.name != .photo && name.name != .thumb && isAlbum(name, in: folder)
    {
      albums.append(name)
    }
    return albums
  }

  /// False for a hidden directory, and for one that another program made for itself. An album that got such a
  /// name has its photos' directory.
  private static func isAlbum(_ name: Folder.Name, in folder: borrowing Folder) -> Bool {
    if name.kind != .directory || name.name.isHidden { return false }
    return !Leftover.isFolder(name.name.bytes) || folder.holds(.photo, in: name.name)
  }

  private static func addFiles(
    of folder: borrowing Folder, _ names: [Folder.Name], direct: Bool, _ rows: inout [PhotoRow]
  ) throws(Errno) {
    for name in names where name.kind == .file && !name.name.isHidden {
      guard let entry = try? folder.entry(name.name), entry.kind == .file else { continue }
      rows.append(
        PhotoRow(
          name: name.name, inode: entry.file.inode, size: entry.size,
          modified: entry.modified.seconds, changed: entry.changed.nanoseconds,
          isDirect: direct, thumbnail: 0,
          kind: MediaKind(named: name.name.bytes[...])))
    }
  }

  /// Returns the time of the directory.
  private func addThumbnails(
    _ path: [FileName], _ rows: inout [PhotoRow]
  ) throws(Errno) -> Timestamp {
    let thumb = try Folder(path + [.thumb], below: root)
    let time = try thumb.status().modified
    var inodes: [FileName: UInt64] = [:]
    for name in try thumb.names() where name.kind == .file { inodes[name.name] = name.inode }
    let inPhoto = Set(rows.lazy.filter { !$0.isDirect }.map(\.name))
    for place in rows.indices {
      // Of two photos of one name, that in Photo has the thumbnail.
      if rows[place].isDirect, inPhoto.contains(rows[place].name) { continue }
      guard let inode = inodes[rows[place].name] else { continue }
      rows[place].thumbnail = inode
      // The content of a picture decides, not its name.
      if rows[place].kind == .other { rows[place].kind = .photo }
    }
    return time
  }
}
