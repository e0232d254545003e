package import Posix

package import struct Synchronization.Atomic

/// The real directory, on a disk that a test can fill up.
package final class FillableDirectory: StorageDirectory {
  private let real: PosixDirectory
  package let isFull = Atomic<Bool>(false)

  package init(_ real: PosixDirectory) { self.real = real }

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    try real.open(path, access)
  }
  package func makeDirectory(_ path: String) throws(Errno) { try real.makeDirectory(path) }
  package func rename(_ from: String, to: String) throws(Errno) { try real.rename(from, to: to) }
  package func remove(_ path: String) throws(Errno) { try real.remove(path) }
  package func list(_ path: String) throws(Errno) -> [String] { try real.list(path) }
  package func syncDirectory(_ path: String) throws(Errno) { try real.syncDirectory(path) }

  package func capacity() throws(Errno) -> StorageCapacity {
    var capacity = try real.capacity()
    if isFull.load(ordering: .relaxed) { capacity.availableBytes = 0 }
    return capacity
  }
}
