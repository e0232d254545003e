import Glibc

/// Memory of its own for the bytes of one picture: given back to the kernel, and so wiped, in
/// deinit.
@safe
struct PictureMemory: ~Copyable {
  let bytes: UnsafeMutableRawBufferPointer

  /// nil when the cell's memory does not suffice.
  init?(byteCount: Int) {
    let memory = unsafe mmap(
      nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
    unsafe bytes = UnsafeMutableRawBufferPointer(start: memory, count: byteCount)
  }

  deinit { unsafe _ = munmap(bytes.baseAddress, bytes.count) }
}
