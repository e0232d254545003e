package import AlbumModel
package import Posix

/// The clocks of the file system. Tests bring their own.
package struct FileSystemClock: Sendable {
  /// The time of day for time stamps, from the clock that the kernel uses for its own.
  package var now: @Sendable () -> Timestamp
  /// The clock for durations.
  package var monotonic: @Sendable () -> MonotonicTime

  package init(
    now: @escaping @Sendable () -> Timestamp, monotonic: @escaping @Sendable () -> MonotonicTime
  ) {
    self.now = now
    self.monotonic = monotonic
  }

  package static let system = FileSystemClock(
    now: { SystemClock.fileTime() },
    monotonic: { MonotonicTime.now })
}
