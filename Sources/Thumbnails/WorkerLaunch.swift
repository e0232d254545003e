/// How workers are started and what they may use up.
package struct WorkerLaunch: Sendable {
  /// Path of albumfs-thumbnailer.
  package var program: String
  /// Address space of a worker in bytes.
  package var memory: UInt64 = 2 << 30
  /// What every picture may cost at first, from its first byte to the last of its thumbnail; see
  /// `Attempt` for what counts.
  package var firstAllowance = Duration.seconds(3)
  /// What one that needed more may cost, when nothing else waits.
  package var longAllowance = Duration.seconds(60)
  /// From the start of the process to its first message.
  package var startDeadline = Duration.seconds(30)
  /// For tests: the worker obeys pictures that tell it to crash or hang.
  package var allowsMisbehaviour = false
  /// For tests: the worker's cell is that of a kernel without Landlock, or without user namespaces.
  package var hidesLandlock = false
  package var hidesNamespaces = false
  /// Where the daemon counts the threads of a worker whose kernel does not bound them. Tests give an empty
  /// directory, as /proc is with hidepid.
  package var processes = "/proc"
  /// The worker does not leave the processor and the disk to all others.
  package var isEager = false

  package init(program: String) { self.program = program }

  package var arguments: [String] {
    // Decoders may use both of its threads for all of that time.
    let processorSeconds = longAllowance.components.seconds * 2 + 1
    return [
      program, "--memory", String(memory), "--processor-seconds", String(processorSeconds),
    ] + (allowsMisbehaviour ? ["--allow-misbehaviour"] : [])
      + (hidesLandlock ? ["--hide-landlock"] : []) + (hidesNamespaces ? ["--hide-namespaces"] : [])
      + (isEager ? ["--eager"] : [])
  }
}
