import AlbumModel
package import Posix

/// A disk that holds a copy, and records which files are read.
package final class CopiedDisk: StorageDirectory {
  private let base: SimulatedDisk
  private let read = Mutex<Set<String>>([], rank: .test)

  package init(_ copy: StoreCopy) { base = SimulatedDisk(copy.image) }

  /// Its current content.
  package var copy: StoreCopy { StoreCopy(base.image) }

  /// The files that were read since the last call.
  package func takeRead() -> Set<String> {
    read.withLock { paths in
      defer { paths = [] }
      return paths
    }
  }

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    OpenedFile(try base.open(path, access), path, self)
  }

  package func makeDirectory(_ path: String) throws(Errno) { try base.makeDirectory(path) }
  package func rename(_ from: String, to: String) throws(Errno) { try base.rename(from, to: to) }
  package func remove(_ path: String) throws(Errno) { try base.remove(path) }
  package func list(_ path: String) throws(Errno) -> [String] { try base.list(path) }
  package func syncDirectory(_ path: String) throws(Errno) { try base.syncDirectory(path) }
  package func capacity() throws(Errno) -> StorageCapacity { try base.capacity() }

  private final class OpenedFile: StorageFile {
    private let file: any StorageFile
    private let path: String
    private let disk: CopiedDisk

    init(_ file: any StorageFile, _ path: String, _ disk: CopiedDisk) {
      self.file = file
      self.path = path
      self.disk = disk
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
      disk.read.withLock { _ = $0.insert(path) }
      return try unsafe file.read(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
      try unsafe file.write(buffer, at: offset)
    }

    func setModificationTime(_ time: Timestamp) throws(Errno) {
      try file.setModificationTime(time)
    }

    func sync() throws(Errno) { try file.sync() }
    func startWriteback() { file.startWriteback() }
    func size() throws(Errno) -> Int64 { try file.size() }
    func modificationTime() throws(Errno) -> Timestamp { try file.modificationTime() }
    func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
      try file.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
    }
    func unlock(offset: Int64, length: Int64) throws(Errno) {
      try file.unlock(offset: offset, length: length)
    }
  }
}
