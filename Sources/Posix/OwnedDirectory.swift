package import AlbumModel
internal import CLinux
internal import Glibc

/// A directory in which other programs keep files of one user. albumfs reads it with distrust: it follows no
/// symbolic link below the first directory, never waits for a FIFO, and opens only regular files and
/// directories that belong to that user. Any thread.
package final class OwnedDirectory: Sendable {
  package enum Kind: Sendable, Equatable { case file, directory, other }

  private let descriptor: FileDescriptor
  private let user: UInt32

  /// `path` itself may contain symbolic links: users move `~/.cache` to other disks. Throws `.accessDenied`
  /// if the directory belongs to another user.
  package init(path: String, user: UInt32) throws(Errno) {
    descriptor = try FileDescriptor(open: path, O_RDONLY | O_DIRECTORY | O_NONBLOCK)
    self.user = user
    try requireOwner()
  }

  /// A directory that anybody may own, such as /tmp. What is opened in it must belong to the user all the
  /// same.
  package init(shared path: String, user: UInt32) throws(Errno) {
    descriptor = try FileDescriptor(open: path, O_RDONLY | O_DIRECTORY | O_NONBLOCK)
    self.user = user
  }

  /// A directory in another one. Throws an `isMisplaced` error for a symbolic link and for anything else that
  /// is no directory.
  package init(_ name: FileName, in parent: OwnedDirectory) throws(Errno) {
    do throws(Errno) {
      descriptor = try parent.descriptor.openNearby(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    } catch {
      throw parent.explained(error, name, wantsDirectory: true)
    }
    user = parent.user
    try requireOwner()
  }

  private func requireOwner() throws(Errno) {
    if try descriptor.status().st_uid != user { throw .accessDenied }
  }

  /// Reads at most `limit` names; `isComplete` is false if there are more.
  package func names(atMost limit: Int) throws(Errno) -> (names: [FileName], isComplete: Bool) {
    // A descriptor of its own, because reading moves its position.
    let opened = try descriptor.openNearby(FileName(dots: 1), O_RDONLY | O_DIRECTORY)
    let (names, isComplete) = try opened.readNames(atMost: limit)
    return (names.compactMap { try? FileName($0) }, isComplete)
  }

  /// nil if there is nothing of that name.
  package func kind(of name: FileName) -> Kind? {
    guard let status = try? status(of: name) else { return nil }
    return switch status.st_mode & S_IFMT {
    case S_IFREG: .file
    case S_IFDIR: .directory
    default: .other
    }
  }

  /// Opens a regular file of the user for reading. Throws an `isMisplaced` error for anything else, and
  /// `.accessDenied` for another user's file.
  package func open(_ name: FileName) throws(Errno) -> OwnedFile {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let opened: FileDescriptor
    do throws(Errno) { opened = try descriptor.openNearby(name, flags) } catch {
      throw explained(error, name, wantsDirectory: false)
    }
    let status = try opened.status()
    if let kind = Misplaced(status, wantsDirectory: false) {
      throw Errno(kind, wantsDirectory: false)
    }
    if status.st_uid != user { throw .accessDenied }
    return OwnedFile(opened, status)
  }

  /// Removes a file. Throws `.stale` if the name leads to another file by now.
  package func remove(_ name: FileName, _ file: OwnedFile) throws(Errno) {
    if !file.isSame(try status(of: name)) { throw .stale }
    try unsafe onPath(name) { unsafe unlinkat($0, $1, 0) }
  }

  /// Removes a directory if it is empty; returns false if it is not.
  package func removeEmptyDirectory(_ name: FileName) throws(Errno) -> Bool {
    do throws(Errno) { try unsafe onPath(name) { unsafe unlinkat($0, $1, AT_REMOVEDIR) } } catch {
      if error == .notEmpty || error == .exists { return false }
      throw error
    }
    return true
  }

  /// Replaces a file: writes a new one beside it, with its mode and owner, and renames that over it. Throws
  /// `.stale` if the file changed since it was opened.
  package func replace(_ name: FileName, _ file: OwnedFile, by content: [UInt8]) throws(Errno) {
    let random = String(UInt64.random(in: .min ... .max), radix: 36)
    let temporary = FileName(known: Array(".albumfs-\(random)".utf8))
    let new = try descriptor.openNearby(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
    do throws(Errno) {
      let status = file.status
      try new.writeAll(content)
      let raw = new.rawValue
      // The group may be one that the user has left: the file then takes the user's own.
      if fchown(raw, status.st_uid, status.st_gid) != 0 {
        _ = fchown(raw, status.st_uid, gid_t.max)
      }
      try retrying { fchmod(raw, status.st_mode & 0o7777) }
      try new.synchronize()
      if !file.isUnchanged(try self.status(of: name)) { throw .stale }
      let directory = descriptor.rawValue
      try unsafe onPath(temporary) { _, from throws(Errno) in
        try unsafe onPath(name) { unsafe renameat(directory, from, directory, $1) }
        return 0
      }
    } catch {
      try? unsafe onPath(temporary) { unsafe unlinkat($0, $1, 0) }
      throw error
    }
    try descriptor.synchronize()
  }

  private func status(of name: FileName) throws(Errno) -> stat {
    var status = stat()
    try unsafe onPath(name) { unsafe fstatat($0, $1, &status, AT_SYMLINK_NOFOLLOW) }
    return status
  }

  /// Makes a system call on a name in this directory.
  private func onPath(
    _ name: FileName, _ call: (CInt, UnsafePointer<CChar>) throws(Errno) -> CInt
  ) throws(Errno) {
    try unsafe name.withPath { path throws(Errno) in
      while try unsafe call(descriptor.rawValue, path) == -1 {
        let error = Errno.last
        if error != .interrupted { throw error }
      }
    }
  }

  /// Replaces the error of a failed open by the type of the object, if that is the cause.
  private func explained(_ error: Errno, _ name: FileName, wantsDirectory: Bool) -> Errno {
    guard let status = try? status(of: name),
      let kind = Misplaced(status, wantsDirectory: wantsDirectory)
    else { return error }
    return Errno(kind, wantsDirectory: wantsDirectory)
  }
}

/// An open regular file of one user. Reads share no position. Any thread.
package final class OwnedFile: Sendable {
  private let descriptor: FileDescriptor
  fileprivate let status: stat

  fileprivate init(_ descriptor: consuming FileDescriptor, _ status: stat) {
    self.descriptor = descriptor
    self.status = status
  }

  /// In bytes, as of the time when it was opened.
  package var size: Int64 { status.byteCount }

  /// Reads at most `count` bytes; fewer only at the end of the file.
  package func read(_ count: Int, at offset: Int64) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let filled = try descriptor.fill(&bytes, at: offset)
    return filled == count ? bytes : Array(bytes[..<filled])
  }

  /// The whole content; throws `.tooBig` if it is longer than `limit`.
  package func content(atMost limit: Int) throws(Errno) -> [UInt8] {
    if size > limit { throw .tooBig }
    let bytes = try read(Int(size) + 1, at: 0)
    // A program is writing to it.
    if bytes.count != Int(size) { throw .stale }
    return bytes
  }

  fileprivate func isSame(_ other: stat) -> Bool {
    other.st_dev == status.st_dev && other.st_ino == status.st_ino
  }

  fileprivate func isUnchanged(_ other: stat) -> Bool {
    isSame(other) && other.st_size == status.st_size
      && other.st_mtim.tv_sec == status.st_mtim.tv_sec
      && other.st_mtim.tv_nsec == status.st_mtim.tv_nsec
  }
}

extension FileDescriptor {
  /// openat(2) of a name in this directory, with O_CLOEXEC. Leaves the access time alone if the kernel
  /// permits that.
  fileprivate func openNearby(_ name: FileName, _ flags: CInt) throws(Errno) -> FileDescriptor {
    let directory = rawValue
    func open(_ flags: CInt) throws(Errno) -> FileDescriptor {
      let raw = try unsafe name.withPath { path throws(Errno) in
        try retrying { unsafe clinux_openat(directory, path, flags | O_CLOEXEC, 0o600) }
      }
      return FileDescriptor(owning: raw)
    }
    if flags & O_CREAT != 0 { return try open(flags) }
    do throws(Errno) { return try open(flags | O_NOATIME_VALUE) } catch {
      if error != .notPermitted { throw error }
      return try open(flags)
    }
  }
}

extension FileName {
  /// Calls `body` with the name as a C string.
  fileprivate func withPath<Result>(_ body: (UnsafePointer<CChar>) throws(Errno) -> Result)
    throws(Errno) -> Result
  {
    let characters = bytes.map { CChar(bitPattern: $0) } + [0]
    return try unsafe characters.withUnsafeBufferPointer { buffer throws(Errno) in
      try unsafe body(buffer.baseAddress!)
    }
  }
}
