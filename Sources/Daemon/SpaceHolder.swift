import AlbumModel
import ControlProtocol
import Posix

/// Finds the daemon that has a space open, for the user who wants to mount it again.
enum SpaceHolder {
  /// The failure of a mount whose space is in use.
  static func failure(ofSpace name: String) -> Failure {
    let message = ControlClient.firstDaemon { client, _ -> String? in
      guard case .done(let summary)? = try? client.ask(.serves(space: name)), summary.count == 1,
        case .status(let status)? = try? client.ask(.status)
      else { return nil }
      return sentence(status)
    }
    return Failure(
      .storeInUse,
      message
        ?? """
        The space is mounted already: by another user or on another machine, or albumfs check or space \
        destroy works on it. Unmount it there first.
        """)
  }

  private static func sentence(_ status: MountStatus) -> String {
    let (point, process) = (status.mountPoint, "process \(status.pid)")
    guard MountTable.mount(at: point)?.type == FileSystemType.albumfs else {
      return """
        This space was unmounted from \(point), and a program still has files open in it (\(process)). It \
        ends when they are closed; albumfs list names the programs.
        """
    }
    return "This space is already mounted on \(point) (\(process)). Run: "
      + "albumfs umount \(ShellWord.quoted(point))"
  }
}
