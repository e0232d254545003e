package import AlbumModel

// The seam between albumfs and the disk. The core reads and writes a store only through these two protocols.
// So a test can replace the disk by a simulated one that loses unsynced data, tears writes and returns
// errors. Paths are relative to the store: `keys`, `segments/3f/3f9a…`. Any thread may make any call.

/// How to open a file of the store.
package enum StorageAccess: Sendable {
  case read
  case readWrite
  /// Creates the file; throws `.exists` if it is there already.
  case createNew
}

/// Free space on the disk below, in bytes and files.
package struct StorageCapacity: Sendable, Equatable {
  /// In bytes; the disk gives room in multiples of it.
  package var blockSize: Int
  package var totalBytes: Int64
  package var freeBytes: Int64
  package var availableBytes: Int64
  package var totalFiles: Int64
  package var freeFiles: Int64
  package init(
    blockSize: Int, totalBytes: Int64, freeBytes: Int64, availableBytes: Int64, totalFiles: Int64,
    freeFiles: Int64
  ) {
    self.blockSize = blockSize
    self.totalBytes = totalBytes
    self.freeBytes = freeBytes
    self.availableBytes = availableBytes
    self.totalFiles = totalFiles
    self.freeFiles = freeFiles
  }
}

/// The times of a file or folder of the store.
package struct FileTimes: Sendable, Equatable {
  /// Last change of the content.
  package var modified: Timestamp
  /// Last read.
  package var accessed: Timestamp
  /// Last change of the content or of the inode, by the file system's own clock.
  package var changed: Timestamp

  package init(modified: Timestamp, accessed: Timestamp, changed: Timestamp) {
    self.modified = modified
    self.accessed = accessed
    self.changed = changed
  }
}

/// One open file of the store. Closes when its last reference goes.
package protocol StorageFile: AnyObject, Sendable {
  /// Reads at `offset` until the buffer is full or the file ends; returns the number of bytes.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int
  /// Writes all bytes at `offset`. When it throws, any part of them may be on disk.
  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno)
  /// Does the same with the bytes of two buffers, one after the other, in one call.
  func write(
    _ buffer: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno)
  /// Returns when everything written before the call is on disk. Callers never retry it after a failure.
  func sync() throws(Errno)
  /// Starts writeback of what was written and does not wait.
  func startWriteback()
  func size() throws(Errno) -> Int64
  func modificationTime() throws(Errno) -> Timestamp
  /// True if another user owns the file, so that reads change its access time and nobody here may set times.
  var isForeign: Bool { get }
  /// Sets the access time as a read would, as far as the kernel does that.
  func touchAccessTime()
  /// Sets the modification time, and the access time to the same. Does nothing if the file is foreign.
  func setModificationTime(_ time: Timestamp) throws(Errno)
  /// Sets the access time alone, since another process may be changing the modification time. Does nothing
  /// if the file is foreign.
  func setAccessTime(_ time: Timestamp) throws(Errno)
  func times() throws(Errno) -> FileTimes
  /// True if the file has another name, for example in a copy of the store made with hard links.
  func hasOtherNames() throws(Errno) -> Bool
  /// Takes an open-file-description lock over `length` bytes (0: to the end). Throws `.again` if another
  /// holder has it: at once, or with `wait` after a minute.
  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno)
  func unlock(offset: Int64, length: Int64) throws(Errno)
  /// Begins to load a part that will be read, where that is a request to a server. Does not wait.
  func loadAhead(_ range: Range<Int64>)
  /// Asks the file system, and not the kernel's memory, whether this holder still has the lock that it took.
  /// Throws `.again` if another one has it now, and the error of a file system that forgot it.
  func proveLock(exclusive: Bool, offset: Int64, length: Int64) throws(Errno)
  /// True if another open file description of the file holds a lock on any part of it.
  func isLockedByOthers() throws(Errno) -> Bool
}

/// The directory that holds a store.
package protocol StorageDirectory: AnyObject, Sendable {
  /// Throws an `Errno.isMisplaced` if the path is not a regular file. Never waits for one.
  func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile
  func makeDirectory(_ path: String) throws(Errno)
  func rename(_ from: String, to: String) throws(Errno)
  func remove(_ path: String) throws(Errno)
  /// Opens a file for reading as it is now where the store lies, whatever is known of it here. Where each
  /// read is a request, only the first read throws `.noEntry`.
  func openThere(_ path: String) throws(Errno) -> any StorageFile
  /// Lists anew what is there, when it is listed next.
  func forgetListing()
  /// Reads a file, or all, anew where it lies, when it is read next.
  func forgetContents(of path: String?)
  /// Takes over that a file is where the store lies, perhaps with new content, though it may not be listed.
  func expect(_ path: String, byteCount: Int64)
  /// The names in a directory, without `.` and `..`, in no order. The empty path is the store.
  func list(_ path: String) throws(Errno) -> [String]
  /// The same, with the times of the directory before that; nil if the disk keeps none.
  func listWithTimes(_ path: String) throws(Errno) -> (names: [String], times: FileTimes?)
  /// Returns when all entries made and removed in this directory before the call are on disk.
  func syncDirectory(_ path: String) throws(Errno)
  /// True if the path still leads to this very file, which was opened here before. Whoever can write to the
  /// store may have replaced the file or a folder on the way.
  func holds(_ file: any StorageFile, at path: String) throws(Errno) -> Bool
  func capacity() throws(Errno) -> StorageCapacity
  /// Returns when the disk has taken back the room of all files that were removed before the call. btrfs, for
  /// one, takes it back with its next commit.
  func syncRemovals() throws(Errno)
  /// The times of a folder; nil if the disk keeps none. The empty path is the store.
  func folderTimes(_ path: String) throws(Errno) -> FileTimes?
  /// Sets the modification and the access time of a folder. Does nothing if another user owns it.
  func setFolderTime(_ path: String, _ time: Timestamp) throws(Errno)
  /// Sets both times of a folder to now if another user owns it.
  func touchForeignFolder(_ path: String) throws(Errno)
  /// True if users share the store, so that its files may have several owners.
  var mayHaveSeveralOwners: Bool { get }
  /// The kind of the file system below.
  var kind: StorageKind { get }
  /// The outages of a store that is waited for; nil where no call waits.
  var outages: Outages? { get }
  /// True if each part that is read is a request to a server.
  var isReadFromServer: Bool { get }
  /// What brings the files of this directory to where the store lies; nil if it lies here.
  var relay: (any StorageRelay)? { get }
}

extension StorageDirectory {
  // A disk of a test has one user.
  package func touchForeignFolder(_ path: String) throws(Errno) {}
  // It takes the room back at once.
  package func syncRemovals() throws(Errno) {}
  package var mayHaveSeveralOwners: Bool { false }
  package var kind: StorageKind { .test }
  package var outages: Outages? { nil }
  package var isReadFromServer: Bool { false }
  package var relay: (any StorageRelay)? { nil }
  package func openThere(_ path: String) throws(Errno) -> any StorageFile { try open(path, .read) }
  package func forgetListing() {}
  package func forgetContents(of path: String?) {}
  package func expect(_ path: String, byteCount: Int64) {}
  package func listWithTimes(_ path: String) throws(Errno) -> (names: [String], times: FileTimes?) {
    let times = try folderTimes(path)
    return (try list(path), times)
  }
}

extension StorageDirectory {
  /// Replaces or creates a small file. Writes a new one beside it, `<name>.new`, and renames that, so that no
  /// reader and no crash sees half of it.
  package func replaceFile(_ name: String, by content: [UInt8]) throws(Errno) {
    let temporary = "\(name).new"
    do throws(Errno) { try remove(temporary) } catch {
      if error != .noEntry { throw error }
    }
    let file = try open(temporary, .createNew)
    try file.writeAll(content)
    try file.sync()
    try rename(temporary, to: name)
    try syncDirectory("")
  }
}

extension StorageFile {
  package var isForeign: Bool { false }
  package func touchAccessTime() {}

  /// For disks of tests: joins the buffers, so that such a disk sees one write.
  package func write(
    _ buffer: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno) {
    if unsafe rest.isEmpty { return try unsafe write(buffer, at: offset) }
    let joined = unsafe Array(buffer) + Array(rest)
    var failure: Errno?
    unsafe joined.withUnsafeBytes {
      do throws(Errno) { try unsafe write($0, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Writes at the beginning.
  package func writeAll(_ bytes: [UInt8]) throws(Errno) {
    var failure: Errno?
    unsafe bytes.withUnsafeBytes {
      do throws(Errno) { try unsafe write($0, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// The first bytes; nil if there are fewer.
  package func contents(byteCount: Int) throws(Errno) -> [UInt8]? {
    let bytes = try bytes(at: 0, count: byteCount)
    return bytes.count == byteCount ? bytes : nil
  }

  /// The bytes from `offset` on, at most `count`.
  package func bytes(at offset: Int64, count: Int) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var failure: Errno?
    var found = 0
    unsafe bytes.withUnsafeMutableBytes {
      do throws(Errno) { found = try unsafe read(into: $0, at: offset) } catch { failure = error }
    }
    if let failure { throw failure }
    return Array(bytes[..<found])
  }

  package func hasOtherNames() throws(Errno) -> Bool { false }
  package func isLockedByOthers() throws(Errno) -> Bool { false }
  package func loadAhead(_ range: Range<Int64>) {}
  package func proveLock(exclusive: Bool, offset: Int64, length: Int64) throws(Errno) {}
  package func setAccessTime(_ time: Timestamp) throws(Errno) {}

  package func times() throws(Errno) -> FileTimes {
    let modified = try modificationTime()
    return FileTimes(modified: modified, accessed: modified, changed: modified)
  }
}

// For disks of tests that keep no times of folders.
extension StorageDirectory {
  package func folderTimes(_ path: String) throws(Errno) -> FileTimes? { nil }
  package func setFolderTime(_ path: String, _ time: Timestamp) throws(Errno) {}
}

extension StorageDirectory {
  /// True for disks of tests, which only their test touches.
  package func holds(_ file: any StorageFile, at path: String) throws(Errno) -> Bool { true }

  /// Returns the whole content of a small file; throws `.tooBig` above `limit` bytes.
  package func contents(of path: String, limit: Int) throws(Errno) -> [UInt8] {
    let file = try open(path, .read)
    let size = try file.size()
    if size > Int64(limit) { throw .tooBig }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    let count = try readAll(file, &bytes)
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}

private func readAll(_ file: any StorageFile, _ bytes: inout [UInt8]) throws(Errno) -> Int {
  var result: Result<Int, Errno> = .success(0)
  unsafe bytes.withUnsafeMutableBytes { buffer in
    do throws(Errno) { result = .success(try unsafe file.read(into: buffer, at: 0)) } catch {
      result = .failure(error)
    }
  }
  return try result.get()
}
