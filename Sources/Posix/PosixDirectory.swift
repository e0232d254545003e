package import AlbumModel
internal import CLinux
internal import Glibc

/// A store on a real file system. Keeps the directory open, so the store may be renamed meanwhile.
///
/// Opens everything below that directory, follows no symbolic link and never waits. So whoever can write to
/// the store can neither lead albumfs out of it nor block it with a FIFO. An object that is neither a regular
/// file nor, where the caller expects one, a directory causes an error that names it (`Errno.isMisplaced`).
package final class PosixDirectory: StorageDirectory {
  private let directory: FileDescriptor
  private let resolution: PathResolution
  package let kind: StorageKind

  /// `path` itself may contain symbolic links, because the user typed it.
  package init(path: String, resolution: PathResolution = .byKernel) throws(Errno) {
    directory = try FileDescriptor(open: path, O_RDONLY | O_DIRECTORY)
    self.resolution = resolution
    kind =
      (try? StorageKind(of: directory.status())) ?? StorageKind(name: "unknown", sharing: .network)
  }

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    let flags =
      switch access {
      case .read: O_RDONLY
      case .readWrite: O_RDWR
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      }
    do throws(Errno) {
      let descriptor = try beneath(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
      let status = try descriptor.status()
      if let kind = Misplaced(status, wantsDirectory: false) {
        throw Errno(kind, wantsDirectory: false)
      }
      if access == .createNew { try sharedAccess().apply(to: descriptor, status) }
      // What this kernel has read before may not be what another machine has written since. CephFS and SMB do
      // not always say so.
      if access == .read, !kind.isLocal { descriptor.dropCached() }
      return PosixFile(descriptor, status)
    } catch {
      throw explained(error, path, wantsDirectory: false)
    }
  }

  package func makeDirectory(_ path: String) throws(Errno) {
    try inParent(of: path) { parent, name throws(Errno) in
      try retrying { unsafe mkdirat(parent, name, 0o700) }
    }
    let made = try openDirectory(path, O_RDONLY)
    let status = try made.status()
    // Another process may have put a directory of its own there.
    if status.st_uid == geteuid() { try sharedAccess().apply(to: made, status) }
  }

  /// Looks at the store's directory each time, because its owner may change it while a space is mounted.
  private func sharedAccess() throws(Errno) -> SharedAccess {
    SharedAccess(try directory.status())
  }

  package var mayHaveSeveralOwners: Bool {
    guard let access = try? sharedAccess() else { return false }
    return access.mayHaveSeveralOwners
  }

  package func rename(_ from: String, to: String) throws(Errno) {
    try inParent(of: from) { parent, name throws(Errno) in
      try inParent(of: to) { otherParent, otherName throws(Errno) in
        try retrying { unsafe renameat(parent, name, otherParent, otherName) }
      }
    }
  }

  /// Renames a file, and throws `.exists` if the new name is taken. Some file systems of the network cannot
  /// do that and throw `.invalid`.
  package func renameExclusively(_ from: String, to: String) throws(Errno) {
    try inParent(of: from) { parent, name throws(Errno) in
      try inParent(of: to) { otherParent, otherName throws(Errno) in
        try retrying { unsafe clinux_rename_exclusive_at(parent, name, otherParent, otherName) }
      }
    }
  }

  package func remove(_ path: String) throws(Errno) {
    try inParent(of: path) { parent, name throws(Errno) in
      try retrying { unsafe unlinkat(parent, name, 0) }
    }
  }

  /// Removes an empty directory.
  package func removeDirectory(_ path: String) throws(Errno) {
    try inParent(of: path) { parent, name throws(Errno) in
      try retrying { unsafe unlinkat(parent, name, AT_REMOVEDIR) }
    }
  }

  package func list(_ path: String) throws(Errno) -> [String] {
    try listWithTimes(path).names
  }

  package func listWithTimes(_ path: String) throws(Errno) -> (names: [String], times: FileTimes?) {
    let folder = try openDirectory(path, O_RDONLY)
    let times = try folder.times()
    return (try folder.readNames().names.map { String(decoding: $0, as: UTF8.self) }, times)
  }

  package func syncDirectory(_ path: String) throws(Errno) {
    try openDirectory(path, O_RDONLY).synchronize()
  }

  package func holds(_ file: any StorageFile, at path: String) throws(Errno) -> Bool {
    guard let file = file as? PosixFile else { return false }
    do throws(Errno) {
      let found = try beneath(path, clinux_path_flag() | O_NOFOLLOW)
      return FileIdentity(try found.status()) == file.identity
    } catch {
      let isElsewhere = [.noEntry, .notDirectory, .tooManySymlinks, .crossDevice].contains(error)
      if isElsewhere { return false }
      throw error
    }
  }

  package func folderTimes(_ path: String) throws(Errno) -> FileTimes? {
    try openDirectory(path, O_RDONLY).times()
  }

  package func setFolderTime(_ path: String, _ time: Timestamp) throws(Errno) {
    try ifOwner { () throws(Errno) in try openDirectory(path, O_RDONLY).setTimes(time) }
  }

  package func touchForeignFolder(_ path: String) throws(Errno) {
    let folder = try openDirectory(path, O_RDONLY)
    if try folder.status().st_uid != geteuid() { try folder.setTimesToNow() }
  }

  package func syncRemovals() throws(Errno) {
    try retrying { clinux_sync_file_system(directory.rawValue) }
  }

  package func capacity() throws(Errno) -> StorageCapacity {
    var status = statvfs()
    try retrying { unsafe fstatvfs(directory.rawValue, &status) }
    return StorageCapacity(status)
  }

  // MARK: Beneath the store

  private func beneath(_ path: String, _ flags: CInt) throws(Errno) -> FileDescriptor {
    try FileDescriptor(open: path, in: directory, flags, resolution: resolution)
  }

  private func openDirectory(_ path: String, _ flags: CInt) throws(Errno) -> FileDescriptor {
    do throws(Errno) {
      return try beneath(path.isEmpty ? "." : path, flags | O_DIRECTORY | O_NOFOLLOW)
    } catch {
      throw explained(error, path, wantsDirectory: true)
    }
  }

  /// Calls `body` with the parent directory of a path and the path's last component, so that calls on names
  /// stay below the store too.
  private func inParent(
    of path: String, _ body: (CInt, String) throws(Errno) -> Void
  ) throws(Errno) {
    guard let slash = path.lastIndex(of: "/") else { return try body(directory.rawValue, path) }
    let parent = try openDirectory(String(path[..<slash]), clinux_path_flag())
    try body(parent.rawValue, String(path[path.index(after: slash)...]))
  }

  /// Replaces the error of a failed open by the type of the object at the path, if that is the cause.
  private func explained(_ error: Errno, _ path: String, wantsDirectory: Bool) -> Errno {
    // Another user's FIFO, which this user may not open, is a FIFO all the same.
    let maySayMore = [
      .notDirectory, .tooManySymlinks, .isDirectory, .noDevice, .notSupported, .accessDenied,
    ].contains(error)
    if !maySayMore { return error }
    do throws(Errno) {
      let status = try beneath(path, clinux_path_flag() | O_NOFOLLOW).status()
      guard let kind = Misplaced(status, wantsDirectory: wantsDirectory) else { return error }
      return Errno(kind, wantsDirectory: wantsDirectory)
    } catch {
      let isOnTheWay = error == .notDirectory || error == .tooManySymlinks
      return isOnTheWay ? Errno(.way, wantsDirectory: wantsDirectory) : error
    }
  }
}

/// Identifies a file by disk and inode.
private struct FileIdentity: Equatable {
  let device: UInt
  let inode: UInt

  init(_ status: stat) {
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
  }
}

/// Runs a call that sets times, which only the owner of a file may do.
private func ifOwner(_ body: () throws(Errno) -> Void) throws(Errno) {
  do throws(Errno) { try body() } catch { if error != .notPermitted { throw error } }
}

private final class PosixFile: StorageFile {
  private let descriptor: FileDescriptor
  let identity: FileIdentity
  let isForeign: Bool

  init(_ descriptor: consuming FileDescriptor, _ status: stat) {
    self.descriptor = descriptor
    identity = FileIdentity(status)
    isForeign = geteuid() != 0 && status.st_uid != geteuid()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    try unsafe descriptor.fill(buffer, at: offset)
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
      done += try unsafe descriptor.write(rest, at: offset + Int64(done))
    }
  }

  func write(
    _ buffer: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno) {
    let done = try unsafe descriptor.write(buffer, rest, at: offset)
    let begun = max(0, done - buffer.count)
    if done < buffer.count {
      try unsafe write(UnsafeRawBufferPointer(rebasing: buffer[done...]), at: offset + Int64(done))
    }
    if begun < rest.count {
      try unsafe write(
        UnsafeRawBufferPointer(rebasing: rest[begun...]),
        at: offset + Int64(buffer.count + begun))
    }
  }

  func sync() throws(Errno) { try descriptor.synchronizeData() }
  func startWriteback() { descriptor.startWriteback() }
  func size() throws(Errno) -> Int64 { try descriptor.size() }

  func modificationTime() throws(Errno) -> Timestamp { try descriptor.times().modified }

  func hasOtherNames() throws(Errno) -> Bool { try descriptor.status().st_nlink > 1 }

  func setModificationTime(_ time: Timestamp) throws(Errno) {
    try ifOwner { () throws(Errno) in try descriptor.setTimes(time) }
  }

  func setAccessTime(_ time: Timestamp) throws(Errno) {
    try ifOwner { () throws(Errno) in try descriptor.setAccessTime(time) }
  }

  func touchAccessTime() { descriptor.touchAccessTime() }

  func times() throws(Errno) -> FileTimes { try descriptor.times() }

  func isLockedByOthers() throws(Errno) -> Bool { try descriptor.isLockedByOthers() }

  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    try descriptor.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
  }

  func unlock(offset: Int64, length: Int64) throws(Errno) {
    try descriptor.unlock(offset: offset, length: length)
  }

  func proveLock(exclusive: Bool, offset: Int64, length: Int64) throws(Errno) {
    // NFSv4 answers EIO to a read past the page cache through a descriptor whose lock the server gave away.
    // A cached read and fsync say nothing.
    descriptor.dropCached()
    var byte: [UInt8] = [0]
    _ = try descriptor.fill(&byte, at: 0)
    try descriptor.lock(exclusive: exclusive, offset: offset, length: length, wait: false)
  }
}

extension StorageKind {
  /// The kind of the file system that holds a file. One without a line of its own counts as local: btrfs and
  /// overlays report another device for a file than for the mount, and file systems of the network do not.
  fileprivate init(of status: stat) throws(Errno) {
    let device = DeviceNumber(status.st_dev)
    let entry = try MountTable.current().mounts.last { $0.device == device }
    self = entry.map { StorageKind(named: $0.type) } ?? StorageKind(name: "", sharing: .local)
  }
}
