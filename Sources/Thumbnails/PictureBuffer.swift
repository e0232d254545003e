import AlbumModel
internal import Glibc

/// Holds a part of a picture on its way to a worker, with the headroom that readers need before it. Wiped in
/// deinit. For one thread.
@safe
final class PictureBuffer {
  private let memory: UnsafeMutableRawBufferPointer
  /// The number of bytes that may hold plaintext.
  private var used = 0
  /// The size of the part for reads: a multiple of a record's plaintext.
  static let byteCount = 1 << 20

  init() {
    unsafe memory = .allocate(
      byteCount: ReadHeadroom.byteCount + PictureBuffer.byteCount, alignment: 64)
  }

  var bytes: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[ReadHeadroom.byteCount...])
  }

  /// Announces that the first `count` bytes will be written.
  func willUse(_ count: Int) { used = max(used, count) }

  /// Overwrites the used bytes; the compiler does not optimise this away.
  func wipe() {
    unsafe explicit_bzero(memory.baseAddress!, ReadHeadroom.byteCount + used)
    used = 0
  }

  deinit {
    wipe()
    unsafe memory.deallocate()
  }
}
