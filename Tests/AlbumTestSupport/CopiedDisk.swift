import AlbumModel
package import Posix

/// A disk that holds a copy, and records which files are read.
package final class CopiedDisk: ForwardingDisk, @unchecked Sendable {
  private let disk: SimulatedDisk
  private let read = Mutex<Set<String>>([], rank: .test)

  package init(_ copy: StoreCopy) {
    disk = SimulatedDisk(copy.image)
    super.init(disk)
  }

  /// Its current content.
  package var copy: StoreCopy { StoreCopy(disk.image) }

  /// The files that were read since the last call.
  package func takeRead() -> Set<String> {
    read.withLock { paths in
      defer { paths = [] }
      return paths
    }
  }

  package override func wrap(_ file: any StorageFile, _ path: String) -> any StorageFile {
    OpenedFile(file, path, self)
  }

  private final class OpenedFile: ForwardingFile, @unchecked Sendable {
    private let path: String
    private let disk: CopiedDisk

    init(_ file: any StorageFile, _ path: String, _ disk: CopiedDisk) {
      self.path = path
      self.disk = disk
      super.init(file)
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno)
      -> Int
    {
      disk.read.withLock { _ = $0.insert(path) }
      return try unsafe base.read(into: buffer, at: offset)
    }
  }
}
