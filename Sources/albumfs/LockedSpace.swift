import ControlProtocol
import Posix

/// A locked space without open files, whose daemon is writing everything out.
final class LockedSpace {
  private let mount: MountEntry
  private let client: ControlClient
  private let others: MountHolders
  /// How long a command waits for the daemon's end.
  private static let patience = Duration.seconds(60)

  init(_ mount: MountEntry, _ client: consuming ControlClient) {
    self.mount = mount
    others = MountHolders(of: mount.device, servedBy: client.daemon.pid)
    self.client = client
  }

  /// Returns when everything is on disk and the daemon has ended, or throws why not.
  func waitForEnd(_ output: OutputOptions) throws(Failure) {
    let daemon = ProcessHandle(client.daemon.pid)
    let failure: Failure?
    do throws(Failure) { failure = try client.waitForEnd(atMost: LockedSpace.patience) } catch {
      throw Failure(error.kind, "\(mount.mountPoint) is locked, but: \(error.message)")
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
