import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import Posix

@testable import AlbumStore

/// A space on a damaged disk, mounted without background threads. Its calls take paths.
struct MountedAlbums {
  static let me = Caller(user: 1000, group: 1000)

  let disk: DamagedDisk
  let space: Space
  let fileSystem: FileSystem

  /// Mounts the space. Throws `StoreError` if the mount is refused.
  init(
    _ disk: DamagedDisk, _ keys: SpaceKeys, segmentSize: Int = 256 << 10, hoursLater: Int64 = 0
  ) throws {
    self.disk = disk
    var options = SpaceOpenOptions(
      logger: Logger(label: "damage") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    let ahead = Duration.seconds(hoursLater * 3600)
    options.time = TimeSource(
      wall: { SystemClock.wall() + ahead }, running: { SystemClock.sinceStart() })
    space = try Space.open(
      Store(directory: disk, segmentSize: segmentSize), keys: keys, options: options)
    fileSystem = FileSystem(space: space)
    // A new space: removed files go at once, so that damage hits what the user sees.
    if space.status.inodes == 1 { space.deletedPolicy.isOn = false }
  }

  /// The content of all files, of thumbnails and of deleted files, too.
  var contents: [InodeNumber: [Extent]] {
    space.read { catalog in
      var found: [InodeNumber: [Extent]] = [:]
      catalog.forEachInode { index, state in
        guard state.kind == .regular else { return }
        found[state.number] = catalog.extents(of: index, from: 0, to: .max)
      }
      return found
    }
  }

  /// The files that the space keeps although they were deleted.
  var deleted: Set<InodeNumber> {
    space.read { catalog in
      var found: Set<InodeNumber> = []
      catalog.forEachInode { index, state in
        if catalog.isKeptDeleted(index) { found.insert(state.number) }
      }
      return found
    }
  }

  func unmount() throws {
    try stateTheRest()
    try space.close()
  }

  /// Puts into the catalog what is only in memory until an unmount, such as the times of Thumb.
  func stateTheRest() throws {
    if let error = fileSystem.close() { throw error }
  }

  // MARK: Calls

  func number(_ path: String) throws -> InodeNumber {
    try fileSystem.resolve(path: Array(path.utf8))
  }

  private func split(_ path: String) throws -> (InodeNumber, FileName) {
    var parts = path.split(separator: "/").map(String.init)
    let last = parts.removeLast()
    return (try number(parts.joined(separator: "/")), try FileName(last))
  }

  func mkdir(_ path: String) throws {
    let (parent, name) = try split(path)
    _ = try fileSystem.makeDirectory(
      name, in: parent, permissions: 0o755, for: MountedAlbums.me)
  }

  /// Creates a file, or opens it, and writes at an offset.
  func write(_ bytes: [UInt8], to path: String, at offset: Int64 = 0, truncates: Bool = true)
    throws
  {
    let file: OpenFile
    if let inode = try? number(path) {
      file = try fileSystem.open(
        inode, mode: OpenMode(writes: true, truncates: truncates))
    } else {
      let (parent, name) = try split(path)
      file = try fileSystem.create(
        name, in: parent, permissions: 0o644, mode: OpenMode(writes: true),
        for: MountedAlbums.me
      ).1
    }
    defer { file.release() }
    var failure: FSError?
    unsafe bytes.withUnsafeBytes { buffer in
      do throws(FSError) { try unsafe file.write(buffer, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
    try file.flush()
  }

  func copy(_ path: String, to destination: String) throws {
    try write([], to: destination)
    let mode = OpenMode(writes: true)
    let source = try fileSystem.open(number(path), mode: mode)
    let target = try fileSystem.open(number(destination), mode: mode)
    _ = try fileSystem.copyRange(of: source, at: 0, to: target, at: 0, length: .max)
    target.release()
    source.release()
  }

  func truncate(_ path: String, to size: Int64) throws {
    var change = AttributeChange()
    change.size = size
    _ = try fileSystem.change(change, of: number(path))
  }

  func chmod(_ path: String, _ permissions: UInt16) throws {
    var change = AttributeChange()
    change.permissions = permissions
    _ = try fileSystem.change(change, of: number(path))
  }

  func link(_ path: String, _ newPath: String) throws {
    let (parent, name) = try split(newPath)
    _ = try fileSystem.link(number(path), as: name, in: parent)
  }

  func symlink(_ target: String, _ path: String) throws {
    let (parent, name) = try split(path)
    _ = try fileSystem.makeSymlink(
      name, in: parent, target: Array(target.utf8), for: MountedAlbums.me)
  }

  func setAttribute(_ name: String, _ value: String, _ path: String) throws {
    try fileSystem.setExtendedAttribute(
      Array(name.utf8), to: Array(value.utf8), of: number(path), mode: AttributeMode())
  }

  func rename(_ path: String, _ newPath: String, exchange: Bool = false) throws {
    let (parent, name) = try split(path)
    let (newParent, newName) = try split(newPath)
    try fileSystem.rename(
      name, in: parent, to: newName, in: newParent, mode: RenameMode(exchange: exchange))
  }

  func unlink(_ path: String) throws {
    let (parent, name) = try split(path)
    try fileSystem.unlink(name, in: parent)
  }

  func rmdir(_ path: String) throws {
    let (parent, name) = try split(path)
    try fileSystem.removeDirectory(name, in: parent)
  }

  /// Does the thumbnailer's work: a thumbnail is "thumbnail of " and the photo's content.
  func makeThumbnails() throws {
    while let photo = fileSystem.nextPhoto() {
      guard let size = fileSystem.photoSize(photo),
        let content = unsafe withHeadroom(
          Int(size), { try? unsafe fileSystem.readPhoto(photo, into: $0, at: 0) })
      else {
        fileSystem.fail(photo, reason: .internal)
        continue
      }
      try fileSystem.finish(photo, thumbnail: Array("thumbnail of ".utf8) + content)
    }
  }

  // MARK: Reading

  /// The whole content; nil if reading returns an I/O error.
  func content(of inode: InodeNumber) throws -> [UInt8]? {
    let size = Int(try fileSystem.attributes(of: inode).size)
    return try content(of: inode, at: 0, count: size)
  }

  func content(of inode: InodeNumber, at offset: Int64, count: Int) throws -> [UInt8]? {
    let file = try fileSystem.open(inode, mode: OpenMode(writes: false))
    defer { file.release() }
    do throws(FSError) {
      return try unsafe withHeadroom(count) { (buffer) throws(FSError) in
        try unsafe file.read(into: buffer, at: offset)
      }
    } catch {
      if error.code == .inputOutput { return nil }
      throw error
    }
  }

  func content(of inode: InodeNumber, _ range: Range<Int64>) throws -> [UInt8]? {
    try content(of: inode, at: range.lowerBound, count: range.count)
  }

  func content(_ path: String) throws -> [UInt8]? { try content(of: number(path)) }

  /// All regular files, thumbnails and those without a name included, with their sizes.
  var files: [InodeNumber: Int64] {
    space.read { catalog in
      var files: [InodeNumber: Int64] = [:]
      catalog.forEachInode { _, state in
        if state.kind == .regular { files[state.number] = state.size }
      }
      return files
    }
  }

  /// Returns the names in a directory, as the user sees them.
  func list(_ path: String) throws -> [String] {
    let directory = try fileSystem.openDirectory(number(path))
    var names: [String] = []
    try directory.list(from: 0) { entry in
      names.append(entry.name.display)
      return true
    }
    return names.filter { $0 != "." && $0 != ".." }.sorted()
  }

  /// Removes everything, like `rm -r`.
  func removeAll(below path: String = "") throws {
    for name in try list(path) {
      let child = path.isEmpty ? name : "\(path)/\(name)"
      guard let inode = try? number(child) else { continue }
      if try fileSystem.attributes(of: inode).kind == .directory {
        try removeAll(below: child)
        try rmdir(child)
      } else {
        try unlink(child)
      }
    }
  }
}
