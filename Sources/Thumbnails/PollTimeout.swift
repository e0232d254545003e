import AlbumModel
internal import Posix

extension MonotonicTime {
  /// The timeout argument for poll(2), never negative.
  func pollTimeout(from now: MonotonicTime) -> CInt {
    CInt(clamping: max(0, (self - now).milliseconds))
  }
}
