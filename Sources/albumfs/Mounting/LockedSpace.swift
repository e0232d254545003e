import ControlProtocol
import Posix

/// A locked space without open files, whose daemon is writing everything out.
final class LockedSpace {
  private let mount: MountEntry
  private let client: ControlClient
  /// Another connection to the daemon, for questions.
  private let asking: OrderlyUnmount.Locker?
  private let others: MountHolders
  /// True if the daemon has to send what it writes.
  private let isRemote: Bool
  /// How long a command waits for the daemon's end.
  static let patience = TestHooks.delay(.locking, .seconds(60))

  init(
    _ mount: MountEntry, _ client: consuming ControlClient, _ asking: OrderlyUnmount.Locker?,
    isRemote: Bool
  ) {
    self.mount = mount
    self.asking = asking
    self.isRemote = isRemote
    others = MountHolders(of: mount.device, servedBy: client.daemon.pid)
    self.client = client
  }

  /// Returns when everything is on disk and the daemon has ended, or throws why not.
  func waitForEnd(_ output: OutputOptions) throws(Failure) {
    let daemon = ProcessHandle(client.daemon.pid)
    let failure: Failure?
    do throws(Failure) { failure = try client.waitForEnd(atMost: LockedSpace.patience) } catch {
      if isRemote, error.kind == .timedOut, !ProcessState.isStopped(client.daemon.pid) {
        throw Failure(
          .notSent,
          "\(mount.mountPoint) is locked, and what was written last is on the disk of this machine and may not "
            + "be in the bucket yet: the server does not reply. The daemon (process \(client.daemon.pid)) goes "
            + "on trying for some minutes, and then the next mount here sends it.")
      }
      if let silent = asking?.silentStore("\(mount.mountPoint) is locked") { throw silent }
      throw Failure(error.kind, "\(mount.mountPoint) is locked, but: \(error.message)")
    }
    if let failure, failure.kind == .notSent {
      throw Failure(.notSent, "\(mount.mountPoint) is locked. \(failure.message)")
    }
    if let failure {
      throw Failure(
        failure.kind,
        "\(mount.mountPoint) is locked, but not everything was written: \(failure.message)")
    }
    // The store's files are closed a moment later: until then its disk is busy.
    daemon?.waitForEnd(atMost: 10_000)
    let lines = others.lines.map { "  \($0)" }
    output.say(
      (["\(mount.mountPoint) is locked\(lines.isEmpty ? "." : ", also where it was mounted too:")"]
        + lines).joined(separator: "\n"))
  }
}
