import ArgumentParser
import ControlProtocol
import Daemon
import Glibc
import Posix

/// The daemon in the background; started by `albumfs mount` and by nobody else.
struct DaemonCommand: ParsableCommand {
  static let name = "daemon"
  static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

  func run() throws {
    Hardening.protectMemory()
    Interruption.remove()
    Hardening.nameProcess("albumfs")
    detach()
    Subprocess.setCloseOnExec(LaunchChannel.descriptor)
    let channel = LaunchChannel(owning: LaunchChannel.descriptor)
    let order = try channel.receive()
    let daemon = AlbumDaemon(order.options, log: DaemonLog(.systemLog)) { warnings in
      channel.answer(.ready(warnings: warnings))
    }
    do throws(Failure) {
      try daemon.run(
        secret: order.takeSecret(), ignoringHangup: true,
        exitWhenInterrupted: ExitStatus.code(for: .interrupted))
    } catch {
      _ = channel.answer(.failed(error))
      throw error
    }
  }

  /// Away from the terminal, the caller's directory, and whatever else was inherited.
  private func detach() {
    _ = setsid()
    PathCalls.changeToRoot()
    Hardening.closeDescriptors(from: LaunchChannel.descriptor + 1)
  }
}
