import ArgumentParser
import Posix

/// Completions in a shell for arguments that only albumfs knows.
enum Completions {
  /// The mount points of the user's mounted spaces: with `~` if that was typed.
  static let mounts = CompletionKind.custom { _, _, typed in
    let spaces = (try? MountTable.current())?.spaces.filter(\.isOurs) ?? []
    let points = spaces.map(\.mountPoint)
    return typed.hasPrefix("~") ? points.map(UserConfiguration.abbreviated) : points
  }
}
