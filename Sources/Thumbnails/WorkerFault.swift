package import Posix

/// Why no worker can be started.
package enum WorkerFault: Equatable, Sendable {
  /// The program cannot be run.
  case notStarted(program: String, Errno)
  /// The program ended before it said what its cell can do.
  case endedAtOnce(program: String)
  /// The kernel has no seccomp, so nothing would confine the worker.
  case noSeccomp
  /// The kernel has no user namespace for the worker, and `processes` (`/proc`) hides its threads. Nobody
  /// could bound or count them.
  case uncountedThreads(program: String, processes: String)
}
