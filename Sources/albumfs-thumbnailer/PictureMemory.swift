import FileKinds
import Glibc

/// Separate memory for the bytes of one picture and zeros behind them. deinit returns it to the kernel, which
/// wipes it.
@safe
struct PictureMemory: ~Copyable {
  /// Zeros take no memory until the decoder writes there.
  private static let paddingByteCount = 64 << 20

  private let all: UnsafeMutableRawBufferPointer
  private let byteCount: Int

  /// nil if the cell has not enough memory.
  init?(byteCount: Int) {
    let length = byteCount + PictureMemory.paddingByteCount
    let memory = unsafe mmap(
      nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
    unsafe all = UnsafeMutableRawBufferPointer(start: memory, count: length)
    self.byteCount = byteCount
  }

  var bytes: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: all[..<byteCount])
  }

  /// Gives a HEIC or AVIF the usual main brand. libvips 8.14 knows some brands alone, and no maker's own.
  func nameUsually(_ kind: ImageKind) {
    let brand = kind == .heif ? "heic" : "avif"
    guard kind == .heif || kind == .avif, unsafe bytes.count >= 12 else { return }
    unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[8..<12]).copyBytes(from: brand.utf8)
  }

  var picture: Picture {
    unsafe Picture(content: UnsafeRawBufferPointer(bytes), padded: UnsafeRawBufferPointer(all))
  }

  deinit { unsafe _ = munmap(all.baseAddress, all.count) }
}
