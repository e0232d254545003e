internal import Glibc

/// Memory of whole pages, for `FolderFile.write(_:at:)`: with O_DIRECT, the kernel hands the pages to the
/// file system without a copy of its own. It starts on a page, since a buffer that does not touches one page
/// more, and FUSE then makes two requests of it.
///
/// `@unchecked Sendable`: it has one owner at a time, who fills it and then hands it on to be written.
@safe package final class PageBuffer: @unchecked Sendable {
  /// The size of the kernel's pages.
  package static let pageByteCount = Int(getpagesize())

  /// In bytes.
  package private(set) var count = 0
  /// In bytes.
  package let capacity: Int
  private let memory: UnsafeMutableRawBufferPointer

  package init(capacity: Int) {
    self.capacity = capacity
    unsafe memory = .allocate(byteCount: capacity, alignment: PageBuffer.pageByteCount)
  }

  /// It may have had a part of a picture.
  deinit {
    unsafe erase(memory)
    unsafe memory.deallocate()
  }

  package var room: Int { capacity - count }

  /// Adds bytes, which may not be more than there is room for.
  package func append(_ bytes: some Collection<UInt8>) {
    precondition(bytes.count <= room)
    let free = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[count...])
    unsafe free.copyBytes(from: bytes)
    count += bytes.count
  }

  package func clear() { count = 0 }

  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: memory[..<count]) }
}
