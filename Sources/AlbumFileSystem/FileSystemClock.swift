package import AlbumModel
package import Posix

/// Where the file system takes its times from; tests bring their own.
package struct FileSystemClock: Sendable {
  /// The time of day, for time stamps, on the clock of the kernel's own.
  package var now: @Sendable () -> Timestamp
  /// For how long something was.
  package var monotonic: @Sendable () -> MonotonicTime

  package init(
    now: @escaping @Sendable () -> Timestamp, monotonic: @escaping @Sendable () -> MonotonicTime
  ) {
    self.now = now
    self.monotonic = monotonic
  }

  package static let system = FileSystemClock(
    now: { Timestamp(nanoseconds: SystemClock.fileTimeNanoseconds()) },
    monotonic: { MonotonicTime.now })
}
