import ArgumentParser
import ControlProtocol
import Posix

/// The mount of a command.
struct MountArgument: ParsableArguments {
  @Argument(
    help: "The mount point or anything below it. \(DefaultMountPoint.help)",
    completion: Completions.mounts)
  var path: String?

  /// Connects to its daemon.
  func connect() throws(Failure) -> ControlClient {
    try ControlClient(MountPath.find(DefaultMountPoint.unless(given: path)).mount)
  }
}

extension ControlReply {
  /// Throws if the reply is a failure.
  func orThrow() throws(Failure) -> ControlReply {
    if case .failed(let failure) = self { throw failure }
    return self
  }

  /// Returns the summary of a `done` reply.
  func done() throws(Failure) -> ControlSummary {
    guard case .done(let summary) = try orThrow() else { throw Failure.unexpectedReply }
    return summary
  }
}

extension Failure {
  static let unexpectedReply = Failure(.unreachable, "The daemon sent an unexpected reply.")
}

/// The mount point of `albumfs mount` without arguments. The other commands on a mount take it, too, if none
/// is given.
enum DefaultMountPoint {
  static let help = "By default that of `albumfs mount` without arguments."

  /// Throws wrong usage if none is given and the user's settings name none.
  static func unless(given path: String?) throws(Failure) -> String {
    if let path { return path }
    if let point = try UserConfiguration.read().entries.first?.mountPoint { return point }
    throw Failure(
      .usage,
      "No mount point is given, and \(UserConfiguration.shownPath) names no default. "
        + "albumfs list shows what is mounted.")
  }
}

/// The mounts that `umount` and `lock` are for.
struct MountSelection: ParsableArguments {
  @Argument(
    help: "The mount point. \(DefaultMountPoint.help)", completion: Completions.mounts)
  var mountpoint: String?

  @Flag(help: "All your mounts (as root: everybody's).")
  var all = false

  func validate() throws {
    if all, mountpoint != nil { throw ValidationError("Give one mount point, or --all.") }
  }

  /// The newest first, because a mount may lie in another.
  func mounts() throws(Failure) -> [MountEntry] {
    if all { return try MountPath.table().spaces.reversed().filter(\.isOurs) }
    return [try MountSelection.mount(at: DefaultMountPoint.unless(given: mountpoint))]
  }

  private static func mount(at path: String) throws(Failure) -> MountEntry {
    let absolute = MountPath.resolve(path)
    let table = try MountPath.table()
    if let mount = table.mount(at: absolute), mount.isSpace {
      return mount
    }
    if let mount = table.space(holding: absolute) {
      throw Failure(.noSuchMount, "\(path) is not a mount point; it is in \(mount.mountPoint).")
    }
    throw MountPath.noMount(path, absolute)
      ?? Failure(.noSuchMount, "Nothing of albumfs is mounted on \(path).")
  }
}

/// Completions in a shell for arguments that only albumfs knows.
enum Completions {
  /// The mount points of the user's mounted spaces: with `~` if that was typed.
  static let mounts = CompletionKind.custom { _, _, typed in
    let spaces = (try? MountTable.current())?.spaces.filter(\.isOurs) ?? []
    let points = spaces.map(\.mountPoint)
    return typed.hasPrefix("~") ? points.map(UserConfiguration.abbreviated) : points
  }
}
