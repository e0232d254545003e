package import Posix

package import struct Synchronization.Atomic

/// The real directory, on a disk that a test can fill up or take away.
package final class FillableDirectory: ForwardingDisk, @unchecked Sendable {
  package let isFull = Atomic<Bool>(false)
  /// No file can be opened for reading.
  package let isAway = Atomic<Bool>(false)

  package init(_ real: PosixDirectory) { super.init(real) }

  package override func open(
    _ path: String, _ access: StorageAccess
  ) throws(Errno) -> any StorageFile {
    if access == .read, isAway.load(ordering: .relaxed) { throw .io }
    return try super.open(path, access)
  }

  package override func capacity() throws(Errno) -> StorageCapacity {
    var capacity = try base.capacity()
    if isFull.load(ordering: .relaxed) { capacity.availableBytes = 0 }
    return capacity
  }
}
