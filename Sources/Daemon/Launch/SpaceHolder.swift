import AlbumModel
package import ControlProtocol
import Posix

/// Finds the daemon that has a space open, for a user who wants to mount, check or destroy the space.
package enum SpaceHolder {
  /// The failure of a command whose space is in use. A copy of the store has a space of the same name, whose
  /// daemon holds no lock here.
  package static func failure(ofSpace name: String, in store: String) -> Failure {
    let message = ControlClient.firstDaemon { client, _ -> String? in
      guard case .done(let summary)? = try? client.ask(.serves(space: name)), summary.count == 1,
        case .status(let status)? = try? client.ask(.status), !isCopy(status.store, of: store)
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

  private static func isCopy(_ other: String, of store: String) -> Bool {
    guard let one = try? PlainEntry(store).file, let two = try? PlainEntry(other).file else {
      return false
    }
    return one != two
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
