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

  /// Gives an animated AVIF the brand of a still one, by which libvips 8.14 knows AVIF. Its still picture
  /// shows.
  func nameAnimationStill() {
    guard unsafe bytes.count >= 12, unsafe bytes[4..<12].elementsEqual("ftypavis".utf8) else {
      return
    }
    unsafe bytes[11] = UInt8(ascii: "f")
  }

  var picture: Picture {
    unsafe Picture(content: UnsafeRawBufferPointer(bytes), padded: UnsafeRawBufferPointer(all))
  }

  deinit { unsafe _ = munmap(all.baseAddress, all.count) }
}
