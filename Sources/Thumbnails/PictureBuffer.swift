import AlbumModel
internal import Glibc

/// The stretch of a picture that is on its way to a worker, with the headroom that readers want
/// before it. Wiped in deinit. One thread.
@safe
final class PictureBuffer {
  private let memory: UnsafeMutableRawBufferPointer
  /// How many of `bytes` may hold something in clear.
  private var used = 0
  /// The part to read into: a multiple of a record's plaintext.
  static let byteCount = 1 << 20

  init() {
    unsafe memory = .allocate(
      byteCount: ReadHeadroom.byteCount + PictureBuffer.byteCount, alignment: 64)
  }

  var bytes: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[ReadHeadroom.byteCount...])
  }

  /// The first `count` bytes are about to be written.
  func willUse(_ count: Int) { used = max(used, count) }

  /// Overwrites what was used, in a way that the compiler does not leave out.
  func wipe() {
    unsafe explicit_bzero(memory.baseAddress!, ReadHeadroom.byteCount + used)
    used = 0
  }

  deinit {
    wipe()
    unsafe memory.deallocate()
  }
}
