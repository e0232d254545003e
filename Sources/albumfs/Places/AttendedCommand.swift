import ControlProtocol
import Glibc
import Posix

/// A command on distant stores (`DistantStores`). Another process, the worker, carries it out with the same
/// terminal, and this one attends it: it passes on how the worker ends, and ends itself if the stores do not
/// respond. The kernel ends the worker with this process, or where it waits for a silent server, as soon as
/// that call returns: whatever it was doing, it does no more.
enum AttendedCommand {
  /// The first word of the worker's command line. Only albumfs writes it.
  static let word = "attended"

  /// A call may wait behind what is on its way to a slow server.
  private static let patience = Outages.patience * 2
  private static let patienceOnceAsked = Duration.seconds(5)

  /// Makes this process a worker.
  static func becomeWorker() {
    ProcessSetup.nameProcess("albumfs")
    ProcessSetup.endWithParent()
  }

  /// Runs the command line of this process. Returns the worker's exit code.
  static func run(on stores: DistantStores) throws(Failure) -> Int32 {
    try stores.requireReply()
    let line = CommandLine.arguments
    let worker: Worker
    do throws(Errno) {
      let number = try Subprocess.start(
        [line.first ?? "albumfs", word] + line.dropFirst(), program: "/proc/self/exe",
        keepsIgnoredSignals: true)
      worker = Worker(number: number, process: ProcessHandle(number))
    } catch {
      throw Failure(.other, "No process can be started: \(error)")
    }
    Interruption.collect(passingTo: worker.number)
    var next = MonotonicTime.now + Outages.silence
    while !worker.hasEnded(within: 200) {
      if !Interruption.wasAsked, MonotonicTime.now < next { continue }
      guard let look = stores.look() else { continue }
      try attend(worker, look, stores)
      next = .now + Outages.silence
    }
    return try worker.code()
  }

  /// Returns when the stores have replied, or the worker has ended. Otherwise ends the worker and throws.
  private static func attend(
    _ worker: borrowing Worker, _ look: consuming DistantStores.Look, _ stores: DistantStores
  ) throws(Failure) {
    var wasSaid = false
    while !look.isReplied(within: 100) {
      if worker.hasEnded(within: 100) { return }
      let wasAsked = Interruption.wasAsked
      if look.age >= (wasAsked ? patienceOnceAsked : patience) {
        worker.end()
        throw Failure(
          wasAsked ? .interrupted : .timedOut,
          "\(stores.silence). What this command had begun may not be finished; run it again when the server is back."
        )
      }
      if look.age < Outages.silence || wasSaid || wasAsked { continue }
      wasSaid = true
      Terminal.complain("\(stores.silence); waiting \(patience) at most")
    }
    look.end()
  }

  private struct Worker: ~Copyable {
    let number: Int32
    /// nil before Linux 5.3.
    let process: ProcessHandle?

    borrowing func hasEnded(within milliseconds: Int32) -> Bool {
      process?.waitForEnd(atMost: milliseconds) ?? true
    }

    borrowing func end() { _ = kill(number, SIGKILL) }

    borrowing func code() throws(Failure) -> Int32 {
      do throws(Errno) { return try Subprocess.wait(number) } catch {
        throw Failure(.other, "The end of process \(number) cannot be observed: \(error)")
      }
    }
  }
}
