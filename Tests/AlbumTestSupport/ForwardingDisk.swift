package import AlbumModel
package import Posix

/// Passes every call on to another disk. A test's disk overrides what it does otherwise.
package class ForwardingDisk: StorageDirectory, @unchecked Sendable {  // it only has a constant
  package let base: any StorageDirectory

  package init(_ base: any StorageDirectory) { self.base = base }

  /// Each opened file passes through here.
  package func wrap(_ file: any StorageFile, _ path: String) -> any StorageFile { file }

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    wrap(try base.open(path, access), path)
  }
  package func makeDirectory(_ path: String) throws(Errno) { try base.makeDirectory(path) }
  package func rename(_ from: String, to: String) throws(Errno) { try base.rename(from, to: to) }
  package func remove(_ path: String) throws(Errno) { try base.remove(path) }
  package func list(_ path: String) throws(Errno) -> [String] { try base.list(path) }
  package func syncDirectory(_ path: String) throws(Errno) { try base.syncDirectory(path) }
  package func capacity() throws(Errno) -> StorageCapacity { try base.capacity() }
  package var kind: StorageKind { .test }
}

/// Passes every call on to another file.
package class ForwardingFile: StorageFile, @unchecked Sendable {  // it only has a constant
  package let base: any StorageFile

  package init(_ base: any StorageFile) { self.base = base }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno)
    -> Int
  {
    try unsafe base.read(into: buffer, at: offset)
  }
  package func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    try unsafe base.write(buffer, at: offset)
  }
  package func sync() throws(Errno) { try base.sync() }
  package func startWriteback() { base.startWriteback() }
  package func size() throws(Errno) -> Int64 { try base.size() }
  package func modificationTime() throws(Errno) -> Timestamp { try base.modificationTime() }
  package func setModificationTime(_ time: Timestamp) throws(Errno) {
    try base.setModificationTime(time)
  }
  package func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    try base.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
  }
  package func unlock(offset: Int64, length: Int64) throws(Errno) {
    try base.unlock(offset: offset, length: length)
  }
  package func proveLock(exclusive: Bool, offset: Int64, length: Int64) throws(Errno) {
    try base.proveLock(exclusive: exclusive, offset: offset, length: length)
  }
}
