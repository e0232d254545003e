package import AlbumModel
package import Posix

/// The real directory, on a disk that reports numbers of its own: its room, the sizes and the times of files.
package final class ReportingDisk: StorageDirectory {
  package struct Report: Sendable {
    package var capacity: StorageCapacity?
    package var size: Int64?
    package var time: Timestamp?
    package init(capacity: StorageCapacity? = nil, size: Int64? = nil, time: Timestamp? = nil) {
      self.capacity = capacity
      self.size = size
      self.time = time
    }
  }

  private let real: PosixDirectory
  private let report = Mutex(Report(), rank: .test)

  package init(_ real: PosixDirectory) { self.real = real }

  /// Reports this from now on.
  package func report(_ new: Report) { report.withLock { $0 = new } }

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    ReportedFile(try real.open(path, access), self)
  }
  package func makeDirectory(_ path: String) throws(Errno) { try real.makeDirectory(path) }
  package func rename(_ from: String, to: String) throws(Errno) { try real.rename(from, to: to) }
  package func remove(_ path: String) throws(Errno) { try real.remove(path) }
  package func list(_ path: String) throws(Errno) -> [String] { try real.list(path) }
  package func syncDirectory(_ path: String) throws(Errno) { try real.syncDirectory(path) }
  package func capacity() throws(Errno) -> StorageCapacity {
    if let capacity = report.withLock({ $0.capacity }) { return capacity }
    return try real.capacity()
  }

  private final class ReportedFile: StorageFile {
    private let file: any StorageFile
    private let disk: ReportingDisk

    init(_ file: any StorageFile, _ disk: ReportingDisk) {
      self.file = file
      self.disk = disk
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
      try unsafe file.read(into: buffer, at: offset)
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
      try unsafe file.write(buffer, at: offset)
    }
    func setModificationTime(_ time: Timestamp) throws(Errno) {
      try file.setModificationTime(time)
    }
    func sync() throws(Errno) { try file.sync() }
    func startWriteback() { file.startWriteback() }
    func size() throws(Errno) -> Int64 {
      if let size = disk.report.withLock({ $0.size }) { return size }
      return try file.size()
    }
    func modificationTime() throws(Errno) -> Timestamp {
      if let time = disk.report.withLock({ $0.time }) { return time }
      return try file.modificationTime()
    }
    func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
      try file.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
    }
    func unlock(offset: Int64, length: Int64) throws(Errno) {
      try file.unlock(offset: offset, length: length)
    }
  }
}
