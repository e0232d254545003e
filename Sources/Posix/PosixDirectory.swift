internal import CLinux
internal import Glibc

/// A store on a real file system. Holds the directory open: the store may be renamed meanwhile, and
/// no path leads out of it by a later change of the name. Symbolic links in it are not followed.
package final class PosixDirectory: StorageDirectory {
  private let directory: FileDescriptor

  package init(path: String) throws(Errno) {
    directory = try FileDescriptor(open: path, O_RDONLY | O_DIRECTORY)
  }

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    let flags =
      switch access {
      case .read: O_RDONLY
      case .readWrite: O_RDWR
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      }
    let descriptor = try FileDescriptor(
      open: path, in: directory, flags | O_NOFOLLOW, permissions: 0o600)
    return PosixFile(descriptor)
  }

  package func makeDirectory(_ path: String) throws(Errno) {
    try retrying { unsafe mkdirat(directory.rawValue, path, 0o700) }
  }

  package func rename(_ from: String, to: String) throws(Errno) {
    try retrying { unsafe renameat(directory.rawValue, from, directory.rawValue, to) }
  }

  package func remove(_ path: String) throws(Errno) {
    try retrying { unsafe unlinkat(directory.rawValue, path, 0) }
  }

  package func list(_ path: String) throws(Errno) -> [String] {
    let opened = try FileDescriptor(
      open: path.isEmpty ? "." : path, in: directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    let raw = opened.release()
    guard let stream = unsafe fdopendir(raw) else {
      let error = Errno.last
      _ = close(raw)
      throw error
    }
    defer { unsafe _ = closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw .last }
        return names
      }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
  }

  package func syncDirectory(_ path: String) throws(Errno) {
    let opened = try FileDescriptor(
      open: path.isEmpty ? "." : path, in: directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    try opened.synchronize()
  }

  package func folderTimes(_ path: String) throws(Errno) -> FileTimes? {
    try openFolder(path).times()
  }

  package func setFolderTime(_ path: String, seconds: Int64) throws(Errno) {
    try openFolder(path).setTimes(seconds: seconds)
  }

  private func openFolder(_ path: String) throws(Errno) -> FileDescriptor {
    try FileDescriptor(
      open: path.isEmpty ? "." : path, in: directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  }

  package func capacity() throws(Errno) -> StorageCapacity {
    var status = statvfs()
    try retrying { unsafe fstatvfs(directory.rawValue, &status) }
    let unit = Int64(status.f_frsize)
    return StorageCapacity(
      blockSize: Int(status.f_bsize), totalBytes: Int64(status.f_blocks) * unit,
      freeBytes: Int64(status.f_bfree) * unit, availableBytes: Int64(status.f_bavail) * unit,
      totalFiles: Int64(status.f_files), freeFiles: Int64(status.f_ffree))
  }
}

private final class PosixFile: StorageFile {
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = try unsafe descriptor.read(into: rest, at: offset + Int64(done))
      if count == 0 { break }
      done += count
    }
    return done
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    var done = 0
    while done < buffer.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
      done += try unsafe descriptor.write(rest, at: offset + Int64(done))
    }
  }

  func sync() throws(Errno) { try descriptor.synchronizeData() }
  func startWriteback() { descriptor.startWriteback() }
  func size() throws(Errno) -> Int64 { try descriptor.size() }

  func modificationTime() throws(Errno) -> Int64 { try descriptor.modificationTime() }

  func hasSetTime() throws(Errno) -> Bool { try descriptor.hasSetModificationTime() }

  func setModificationTime(seconds: Int64) throws(Errno) {
    try descriptor.setTimes(seconds: seconds)
  }

  func setAccessTime(seconds: Int64) throws(Errno) {
    try descriptor.setAccessTime(seconds: seconds)
  }

  func times() throws(Errno) -> FileTimes { try descriptor.times() }

  func isLockedByOthers() throws(Errno) -> Bool { try descriptor.isLockedByOthers() }

  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    try descriptor.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
  }

  func unlock(offset: Int64, length: Int64) throws(Errno) {
    try descriptor.unlock(offset: offset, length: length)
  }
}
