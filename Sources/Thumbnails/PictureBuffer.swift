import AlbumModel
internal import Glibc

/// The stretch of a picture that is on its way to a worker, with the headroom that readers want
/// before it. Wiped in deinit. One thread.
@safe
final class PictureBuffer {
  private let memory: UnsafeMutableRawBufferPointer
  /// The part to read into: a multiple of a record's plaintext.
  static let byteCount = 1 << 20

  init() {
    unsafe memory = .allocate(
      byteCount: ReadHeadroom.byteCount + PictureBuffer.byteCount, alignment: 64)
  }

  var bytes: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[ReadHeadroom.byteCount...])
  }

  /// Overwrites all of it, in a way that the compiler does not leave out.
  func wipe() { unsafe explicit_bzero(memory.baseAddress!, memory.count) }

  deinit {
    wipe()
    unsafe memory.deallocate()
  }
}
