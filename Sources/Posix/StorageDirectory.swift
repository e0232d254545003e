// The seam between albumfs and the disk. All that the core reads and writes of a store goes
// through these two protocols, so that a test can put a simulated disk under it that loses what
// was not synced, tears writes and answers errors. Paths are relative to the store: `keys`,
// `segments/3f/3f9a…`. All calls may come from any thread at once.

/// How a file of the store is opened.
package enum StorageAccess: Sendable {
  case read
  case readWrite
  /// Made by this call; throws `.exists` where it was there.
  case createNew
}

/// What is free on the disk below, in bytes and files.
package struct StorageCapacity: Sendable, Equatable {
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
  /// When the content was changed last: seconds since 1970, and nanoseconds.
  package var modified: Int64
  package var modifiedNanoseconds: Int64
  /// When it was read last, in seconds since 1970.
  package var accessed: Int64
  /// When anything of it was changed last, by the file system's own clock, in seconds since 1970.
  package var changed: Int64

  package init(modified: Int64, modifiedNanoseconds: Int64, accessed: Int64, changed: Int64) {
    self.modified = modified
    self.modifiedNanoseconds = modifiedNanoseconds
    self.accessed = accessed
    self.changed = changed
  }
}

/// One open file of the store. Closed when the last reference goes.
package protocol StorageFile: AnyObject, Sendable {
  /// Reads at `offset` until the buffer is full or the file ends; answers the bytes read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int
  /// Writes all of it at `offset`, or throws; then any part of it may be on disk.
  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno)
  /// Returns when all that was written before the call is on disk. Never to be retried after it
  /// threw.
  func sync() throws(Errno)
  /// Begins to write to disk what was written, and does not wait.
  func startWriteback()
  func size() throws(Errno) -> Int64
  /// Seconds since 1970.
  func modificationTime() throws(Errno) -> Int64
  /// Sets the modification time, and the access time to the same.
  func setModificationTime(seconds: Int64) throws(Errno)
  /// Sets the access time alone: somebody else may be changing the other one.
  func setAccessTime(seconds: Int64) throws(Errno)
  func times() throws(Errno) -> FileTimes
  /// Whether another name leads to the file as well: of a copy that shares files with this one, say.
  func hasOtherNames() throws(Errno) -> Bool
  /// An open-file-description lock over `length` bytes (0: to the end). Throws
  /// `.again` when somebody else holds it: without `wait` at once, with it after a minute.
  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno)
  func unlock(offset: Int64, length: Int64) throws(Errno)
  /// True where another opening of the file holds a lock on any part of it.
  func isLockedByOthers() throws(Errno) -> Bool
}

/// The directory that holds a store.
package protocol StorageDirectory: AnyObject, Sendable {
  /// Throws `Errno.isMisplaced` where anything but a regular file lies there, and never waits for one.
  func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile
  func makeDirectory(_ path: String) throws(Errno)
  func rename(_ from: String, to: String) throws(Errno)
  func remove(_ path: String) throws(Errno)
  /// The names in a directory, without `.` and `..`, in no order. The empty path is the store.
  func list(_ path: String) throws(Errno) -> [String]
  /// Returns when all entries made and removed in this directory before the call are on disk.
  func syncDirectory(_ path: String) throws(Errno)
  /// True while the path leads to this very file, opened here before: whoever may write to the store may
  /// have put another file or folder in its place.
  func holds(_ file: any StorageFile, at path: String) throws(Errno) -> Bool
  func capacity() throws(Errno) -> StorageCapacity
  /// The times of a folder; nil where the disk keeps none. The empty path is the store.
  func folderTimes(_ path: String) throws(Errno) -> FileTimes?
  /// Sets the modification and the access time of a folder.
  func setFolderTime(_ path: String, seconds: Int64) throws(Errno)
}

extension StorageFile {
  /// Writes at the beginning.
  package func writeAll(_ bytes: [UInt8]) throws(Errno) {
    var failure: Errno?
    unsafe bytes.withUnsafeBytes {
      do throws(Errno) { try unsafe write($0, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  package func hasOtherNames() throws(Errno) -> Bool { false }
  package func isLockedByOthers() throws(Errno) -> Bool { false }
  package func setAccessTime(seconds: Int64) throws(Errno) {}

  package func times() throws(Errno) -> FileTimes {
    let modified = try modificationTime()
    return FileTimes(
      modified: modified, modifiedNanoseconds: 0, accessed: modified, changed: modified)
  }
}

// For disks of tests that keep no times of folders.
extension StorageDirectory {
  package func folderTimes(_ path: String) throws(Errno) -> FileTimes? { nil }
  package func setFolderTime(_ path: String, seconds: Int64) throws(Errno) {}
}

extension StorageDirectory {
  /// Nobody but its user touches a disk that is no real one.
  package func holds(_ file: any StorageFile, at path: String) throws(Errno) -> Bool { true }

  /// The whole content of a small file; throws `.tooBig` above `limit` bytes.
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
