internal import Posix

extension MonotonicTime {
  /// What poll(2) wants to hear: never negative.
  func pollTimeout(from now: MonotonicTime) -> CInt {
    CInt(clamping: max(0, (self - now).milliseconds))
  }
}
