import ControlProtocol
import Posix

/// The directory below a mount, while `albumfs mount` works.
///
/// - A missing mount point is made, and marked: whoever unmounts removes it.
/// - A mount point that the user's settings name belongs to albumfs, so nobody may write into the bare
///   directory: what would be written while nothing is mounted would not be encrypted. It stays at the
///   unmount, since without it `cp photo.jpg ~/Album` would make a file of that name. Its rights go as soon
///   as the mount covers it, so nothing has to happen at the unmount or after a kill.
/// - Any other directory stays as it is.
final class BareDirectory: Sendable {
  private let path: String
  private let isMade: Bool
  /// nil if its rights stay as they are.
  private let held: HeldDirectory?

  /// Prepares the mount point. `LaunchOptions.check` reports what is wrong with it.
  init(_ path: String, isConfigured: Bool) throws(Failure) {
    self.path = path
    isMade = try BareDirectory.make(path, isConfigured)
    var held: HeldDirectory?
    if isConfigured, let directory = try? HeldDirectory(path), (try? directory.isOwn) ?? false {
      // fusermount3 demands that the user may write there.
      try? directory.reopen()
      held = consume directory
    }
    self.held = held
  }

  /// Makes a missing directory, but none above it, because a mistyped path should make no tree. Returns true
  /// if it was made.
  private static func make(_ path: String, _ isConfigured: Bool) throws(Failure) -> Bool {
    if MountPath.realPath(path) != nil { return false }
    do throws(Errno) {
      if isConfigured {
        try PathCalls.makePrivateDirectory(path)
      } else {
        try MadeDirectory.make(path)
      }
      return true
    } catch {
      // A link that leads nowhere, which the check reports.
      if error == .exists { return false }
      let parent = "/" + path.split(separator: "/").dropLast().joined(separator: "/")
      throw Failure(
        .mountPoint,
        "\(path) does not exist and cannot be made: "
          + (error == .noEntry ? "there is no \(parent)." : "\(error)."))
    }
  }

  /// The space is mounted over it.
  func isCovered() { try? held?.close() }

  /// Nothing is mounted on it.
  func isLeft() {
    if isMade { try? PathCalls.removeDirectory(path) } else { try? held?.close() }
  }
}
