package import Posix
package import ThumbnailProtocol

/// How to start workers, and their limits.
package struct WorkerLaunch: Sendable {
  /// Path of albumfs-thumbnailer, or of albumfs-video-thumbnailer.
  package var program: String
  /// Address space of a worker, in bytes.
  package var memory: UInt64 = 2 << 30
  /// The allowance of a picture at first, from its first byte to the last byte of its thumbnail. `Attempt`
  /// defines which time counts.
  package var firstAllowance = Duration.seconds(3)
  /// The allowance of a picture that needs more, when no other picture waits.
  package var longAllowance = Duration.seconds(60)
  /// From the start of the process to its first message.
  package var startDeadline = Duration.seconds(30)
  /// For tests: a picture can make the worker crash or hang.
  package var allowsMisbehaviour = false
  /// For tests: the worker's cell behaves as on a kernel without Landlock, or without user namespaces.
  package var hidesLandlock = false
  package var hidesNamespaces = false
  /// The directory in which the daemon counts the threads of a worker if the kernel does not limit them.
  /// Tests pass an empty one, as /proc is with hidepid.
  package var processes = "/proc"
  /// The file in which the kernel counts how long the processors were idle.
  package var processors = "/proc/stat"
  /// Thumbnails of videos get a mark.
  package var marksVideos = false

  package init(program: String) { self.program = program }

  package func arguments(_ share: ProcessorShare) -> [String] {
    // Decoders may use both threads for all of that time.
    let processorSeconds = longAllowance.components.seconds * 2 + 1
    return [
      program, "--memory", String(memory), "--processor-seconds", String(processorSeconds),
      "--share", String(share.rawValue),
    ] + (allowsMisbehaviour ? ["--allow-misbehaviour"] : [])
      + (hidesLandlock ? ["--hide-landlock"] : []) + (hidesNamespaces ? ["--hide-namespaces"] : [])
      + (marksVideos ? ["--mark"] : [])
  }
}

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
