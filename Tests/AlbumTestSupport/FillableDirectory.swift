package import Posix

package import struct Synchronization.Atomic

/// The real directory, on a disk that a test can fill up.
package final class FillableDirectory: ForwardingDisk, @unchecked Sendable {
  package let isFull = Atomic<Bool>(false)

  package init(_ real: PosixDirectory) { super.init(real) }

  package override func capacity() throws(Errno) -> StorageCapacity {
    var capacity = try base.capacity()
    if isFull.load(ordering: .relaxed) { capacity.availableBytes = 0 }
    return capacity
  }
}
