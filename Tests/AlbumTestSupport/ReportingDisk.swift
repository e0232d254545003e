package import AlbumModel
package import Posix

/// The real directory, on a disk that reports numbers of its own: its room, the sizes and the times of files.
package final class ReportingDisk: ForwardingDisk, @unchecked Sendable {
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

  private let report = Mutex(Report(), rank: .test)

  package init(_ real: PosixDirectory) { super.init(real) }

  /// Reports this from now on.
  package func report(_ new: Report) { report.withLock { $0 = new } }

  package override func wrap(_ file: any StorageFile, _ path: String) -> any StorageFile {
    ReportedFile(file, self)
  }

  package override func capacity() throws(Errno) -> StorageCapacity {
    if let capacity = report.withLock({ $0.capacity }) { return capacity }
    return try base.capacity()
  }

  private final class ReportedFile: ForwardingFile, @unchecked Sendable {
    private let disk: ReportingDisk

    init(_ file: any StorageFile, _ disk: ReportingDisk) {
      self.disk = disk
      super.init(file)
    }

    override func size() throws(Errno) -> Int64 {
      if let size = disk.report.withLock({ $0.size }) { return size }
      return try base.size()
    }
    override func modificationTime() throws(Errno) -> Timestamp {
      if let time = disk.report.withLock({ $0.time }) { return time }
      return try base.modificationTime()
    }
  }
}
