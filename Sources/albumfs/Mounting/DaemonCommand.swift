import ArgumentParser
import ControlProtocol
import Daemon
import Glibc
import Posix

/// The daemon in the background. Only `albumfs mount` starts it.
struct DaemonCommand: ParsableCommand {
  static let name = "daemon"
  static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

  func run() throws {
    ProcessSetup.protectMemory()
    Interruption.remove()
    ProcessSetup.nameProcess("albumfs")
    detach()
    Subprocess.setCloseOnExec(LaunchChannel.descriptor)
    let channel = LaunchChannel(owning: LaunchChannel.descriptor)
    let order = try channel.receive()
    // Until the mount is there, an automount blocks everybody who is not in its own process group.
    let point = MountTable.mount(at: order.options.mountPoint)
    let isInAutomount = point?.isAutomount ?? false
    if !isInAutomount { _ = setsid() }
    let daemon = AlbumDaemon(
      order.options, log: DaemonLog(.systemLog, mountPoint: order.options.mountPoint),
      openStore: RemoteStores.openForMount
    ) { warnings in
      if isInAutomount { _ = setsid() }
      return channel.answer(.ready(warnings: warnings))
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

  /// Detaches from the caller's directory and inherited descriptors.
  private func detach() {
    PathCalls.changeToRoot()
    ProcessSetup.closeDescriptors(from: LaunchChannel.descriptor + 1)
  }
}
