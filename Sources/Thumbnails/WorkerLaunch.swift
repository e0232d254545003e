/// How workers are started and what they may use up.
package struct WorkerLaunch: Sendable {
  /// Path of albumfs-thumbnailer.
  package var program: String
  /// Address space of a worker in bytes.
  package var memory: UInt64 = 2 << 30
  /// From the first byte of a picture to the last of its thumbnail.
  package var deadline = Duration.seconds(60)
  /// From the start of the process to its first message.
  package var startDeadline = Duration.seconds(30)
  /// For tests: the worker obeys pictures that tell it to crash or hang.
  package var allowsMisbehaviour = false

  package init(program: String) { self.program = program }

  package var arguments: [String] {
    // Decoders may use both of its threads for all of that time.
    let processorSeconds = deadline.components.seconds * 2 + 1
    return [
      program, "--memory", String(memory), "--processor-seconds", String(processorSeconds),
    ] + (allowsMisbehaviour ? ["--allow-misbehaviour"] : [])
  }
}
