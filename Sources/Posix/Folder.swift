package import AlbumModel
internal import CLinux
internal import Glibc

/// An open directory, for calls on names in it. Nothing that replaces a directory on the way by a link can
/// lead such a call elsewhere.
package struct Folder: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  /// One name of a directory, as readdir(3) reports it.
  package struct Name: Sendable {
    package enum Kind: Sendable { case file, directory, other }
    package var name: FileName
    package var inode: UInt64
    package var kind: Kind
  }

  /// Opens a directory by its path.
  package init(_ path: String) throws(Errno) {
    descriptor = try FileDescriptor(open: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  }

  /// Opens a directory below another one. No symbolic link leads there.
  package init(_ names: [FileName], below top: borrowing Folder) throws(Errno) {
    let path =
      names.isEmpty
      ? PlainPath(bytes: [UInt8(ascii: ".")])
      : PlainPath(bytes: Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])))
    descriptor = try FileDescriptor(open: path, in: top.descriptor, O_RDONLY | O_DIRECTORY)
  }

  /// The device of its file system, as in the table of mounts.
  package var device: DeviceNumber? { PathCalls.device(of: "/proc/self/fd/\(descriptor.rawValue)") }

  /// The path of a name in it, for calls that take a path. It is good while this value lives.
  package func path(of name: FileName) -> PlainPath {
    PlainPath("/proc/self/fd/\(descriptor.rawValue)").appending(name)
  }

  /// The path of the directory itself, for calls that take a path.
  package var path: PlainPath { PlainPath("/proc/self/fd/\(descriptor.rawValue)/.") }

  /// All names but `.` and `..`, in no order.
  package func names() throws(Errno) -> [Name] {
    // A descriptor of its own, because reading moves its position.
    let opened = try FileDescriptor(
      open: PlainPath(bytes: [UInt8(ascii: ".")]), in: descriptor, O_RDONLY | O_DIRECTORY)
    return try opened.readTypedNames()
  }

  /// What fstat(2) says of the directory.
  package func status() throws(Errno) -> PlainEntry { PlainEntry(try descriptor.status()) }

  /// What lstat(2) says of a name.
  package func entry(_ name: FileName) throws(Errno) -> PlainEntry {
    var status = stat()
    let path = PlainPath(bytes: name.bytes).cString
    try retrying { unsafe fstatat(descriptor.rawValue, path, &status, AT_SYMLINK_NOFOLLOW) }
    return PlainEntry(status)
  }

  /// True if something has this name.
  package func holds(_ name: FileName) -> Bool { (try? entry(name)) != nil }

  /// True if a directory in this one holds the name.
  package func holds(_ name: FileName, in directory: FileName) -> Bool {
    guard let inside = try? Folder([directory], below: self) else { return false }
    return inside.holds(name)
  }

  /// Opens a regular file. Never follows a link and never waits for a FIFO.
  package func open(_ name: FileName, _ flags: CInt = O_RDONLY) throws(Errno) -> FolderFile {
    let opened = try FileDescriptor(
      open: PlainPath(bytes: name.bytes), in: descriptor,
      flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, permissions: 0o666)
    return try FolderFile(opened)
  }

  /// Opens a regular file, which it makes where it is missing, for writes that leave no copy of their bytes
  /// in the kernel's cache (O_DIRECT), or for plain writes where the file system has no others.
  package func openForDirectWrites(_ name: FileName) throws(Errno) -> FolderFile {
    let flags = O_WRONLY | O_CREAT
    do throws(Errno) { return try open(name, flags | clinux_direct_flag()) } catch {
      if error != .invalid { throw error }
      return try open(name, flags)
    }
  }

  package func makeDirectory(_ name: FileName) throws(Errno) {
    let path = PlainPath(bytes: name.bytes).cString
    try retrying { unsafe mkdirat(descriptor.rawValue, path, 0o777) }
  }

  package func removeFile(_ name: FileName) throws(Errno) {
    let path = PlainPath(bytes: name.bytes).cString
    try retrying { unsafe unlinkat(descriptor.rawValue, path, 0) }
  }

  /// rmdir(2): only an empty directory goes.
  package func removeDirectory(_ name: FileName) throws(Errno) {
    let path = PlainPath(bytes: name.bytes).cString
    try retrying { unsafe unlinkat(descriptor.rawValue, path, AT_REMOVEDIR) }
  }

  /// Renames into a directory of the same file system. Throws `.exists` where the new name is taken.
  package func rename(
    _ name: FileName, to new: FileName, in other: borrowing Folder
  ) throws(Errno) {
    try PlainFiles.rename(path(of: name), to: other.path(of: new))
  }

  /// Renames in this directory. Throws `.exists` where the new name is taken.
  package func rename(_ name: FileName, to new: FileName) throws(Errno) {
    try PlainFiles.rename(path(of: name), to: path(of: new))
  }
}

extension FileDescriptor {
  /// Reads names with their kinds, and closes the directory. Asks for the kind where the file system does not
  /// report it.
  fileprivate consuming func readTypedNames() throws(Errno) -> [Folder.Name] {
    let raw = release()
    guard let stream = unsafe fdopendir(raw) else {
      let error = Errno.last
      _ = Glibc.close(raw)
      throw error
    }
    defer { unsafe _ = closedir(stream) }
    var names: [Folder.Name] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw .last }
        return names
      }
      let bytes = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
        unsafe Array($0.prefix { $0 != 0 })
      }
      guard let name = try? FileName(bytes) else { continue }
      let kind: Folder.Name.Kind =
        switch Int(unsafe entry.pointee.d_type) {
        case 4: .directory
        case 8: .file
        case 0: FileDescriptor.kind(of: bytes, in: raw)
        default: .other
        }
      names.append(Folder.Name(name: name, inode: unsafe UInt64(entry.pointee.d_ino), kind: kind))
    }
  }

  private static func kind(of name: [UInt8], in directory: CInt) -> Folder.Name.Kind {
    var status = stat()
    let path = PlainPath(bytes: name).cString
    guard unsafe fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return .other }
    return switch status.st_mode & S_IFMT {
    case S_IFREG: .file
    case S_IFDIR: .directory
    default: .other
    }
  }
}

/// An open regular file of a `Folder`. Any thread.
package final class FolderFile: Sendable {
  private let descriptor: FileDescriptor
  /// As of the time when it was opened.
  package let entry: PlainEntry

  fileprivate init(_ descriptor: consuming FileDescriptor) throws(Errno) {
    let entry = PlainEntry(try descriptor.status())
    if entry.kind != .file { throw .invalid }
    self.entry = entry
    self.descriptor = descriptor
  }

  package func size() throws(Errno) -> Int64 { try descriptor.size() }

  /// The flags of open(2) for a file that is made where it is missing, for reading and writing.
  package static let readAndWrite: CInt = O_RDWR | O_CREAT

  /// Takes the lock of the whole file, until this value ends. Returns false if another holder has it.
  package func lock() throws(Errno) -> Bool {
    do throws(Errno) {
      try descriptor.lock(exclusive: true, offset: 0, length: 0, wait: false)
      return true
    } catch {
      if error == .again { return false }
      throw error
    }
  }

  /// Gives the lock back before the file is closed.
  package func unlock() throws(Errno) { try descriptor.unlock(offset: 0, length: 0) }

  /// The bytes at an offset: `count`, or fewer where the file ends.
  package func bytes(_ count: Int, at offset: Int64) throws(Errno) -> [UInt8] {
    try descriptor.bytes(count, at: offset)
  }

  /// Fills the buffer from an offset; returns fewer bytes only at the end.
  package func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int
  {
    try unsafe descriptor.fill(buffer, at: offset)
  }

  /// Writes all bytes at an offset.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    var done = 0
    while done < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
      done += try unsafe descriptor.write(rest, at: offset + Int64(done))
    }
  }

  package func write(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
    var failure: Errno?
    unsafe bytes.withUnsafeBytes {
      do throws(Errno) { try unsafe write($0, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Writes all bytes of the buffer at an offset.
  package func write(_ buffer: PageBuffer, at offset: Int64) throws(Errno) {
    try unsafe write(buffer.bytes, at: offset)
  }

  /// Reports what close(2) would report: a mounted space may find only then that the disk is full.
  package func flush() throws(Errno) { try descriptor.flush() }

  package func cut(to size: Int64) throws(Errno) {
    try retrying { ftruncate(descriptor.rawValue, off_t(size)) }
  }

  package func setModified(_ time: Timestamp) throws(Errno) { try descriptor.setTimes(time) }

  /// True if both files hold the same bytes. `isStopped` is asked now and then; a comparison that stops says
  /// no.
  package func hasSameBytes(
    as other: FolderFile, isStopped: () -> Bool = { false }
  ) throws(Errno) -> Bool {
    if try size() != other.size() { return false }
    if try !begins(with: other, isStopped: isStopped) { return false }
    // One may have grown meanwhile.
    return try size() == other.size()
  }

  /// True if the first bytes are those of the other file, which may be shorter.
  package func begins(
    with other: FolderFile, isStopped: () -> Bool = { false }
  ) throws(Errno) -> Bool {
    var offset: Int64 = 0
    while !isStopped() {
      let part = try other.bytes(1 << 20, at: offset)
      if part.isEmpty { return true }
      if try bytes(part.count, at: offset) != part { return false }
      offset += Int64(part.count)
    }
    return false
  }
}

/// Extended attributes of a path, which may be a directory.
package enum ExtendedAttribute {
  /// nil where there is none.
  package static func value(_ name: String, of path: some SystemPath) -> [UInt8]? {
    let path = path.cString
    for room in [4096, 64 << 10] {
      var value = [UInt8](repeating: 0, count: room)
      let size = unsafe clinux_attribute(path, name, &value, UInt(value.count))
      if size >= 0 { return Array(value[..<Int(size)]) }
      if Errno.last != .outOfRange { return nil }
    }
    return nil
  }

  package static func set(_ name: String, to value: [UInt8], of path: some SystemPath) throws(Errno)
  {
    let path = path.cString
    try retrying { unsafe clinux_set_attribute(path, name, value, UInt(value.count)) }
  }

  /// Does nothing where there is none.
  package static func remove(_ name: String, of path: some SystemPath) throws(Errno) {
    let path = path.cString
    do throws(Errno) { try retrying { unsafe clinux_remove_attribute(path, name) } } catch {
      if error != .noAttribute { throw error }
    }
  }
}
