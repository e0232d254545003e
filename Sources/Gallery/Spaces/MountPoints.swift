import AlbumModel
import ControlProtocol
import Glibc
import Posix

/// The directory of one server for the mount points that its logins make: in the user's runtime directory,
/// where nobody else can enter it. A lock on a file in it shows that the server lives; the kernel drops it
/// with the process. So the next server finds what a killed one left.
final class MountPoints: Sendable {
  private static let prefix = "gallery-"
  private static let lockName = "lock"
  let directory: String
  private let held: FileDescriptor

  init() throws(Errno) {
    guard let runtime = ControlPlaces(of: Credentials.user).make().first else { throw .noEntry }
    directory = "\(runtime)/\(MountPoints.prefix)\(RandomText.make(12))"
    try PathCalls.makePrivateDirectory(directory)
    held = try FileDescriptor(open: "\(directory)/\(MountPoints.lockName)", O_RDWR | O_CREAT)
    try held.lock(exclusive: true, offset: 0, length: 0, wait: false)
  }

  /// A path for a mount point, which `albumfs` makes.
  func newPath() -> String { "\(directory)/\(RandomText.make(12))" }

  /// Removes the directory. What is mounted below must be unmounted before.
  func remove() {
    try? PathCalls.removeFile("\(directory)/\(MountPoints.lockName)")
    try? PathCalls.removeDirectory(directory)
  }

  /// Unmounts what killed servers of this user left mounted.
  func clearOthers(_ program: AlbumfsProgram) {
    let runtime = String(directory.prefix(upTo: directory.lastIndex(of: "/")!))
    guard let folder = try? Folder(runtime), let names = try? folder.names() else { return }
    for name in names where name.name.display.hasPrefix(MountPoints.prefix) {
      let other = "\(runtime)/\(name.name.display)"
      if other == directory || !MountPoints.isLeft(other) { continue }
      for mount in (try? MountTable.current().mounts) ?? [] where mount.mountPoint.lies(in: other) {
        program.unmount(mount.mountPoint)
      }
      MountPoints.removeLeft(other)
    }
  }

  private static func isLeft(_ directory: String) -> Bool {
    guard let file = try? FileDescriptor(open: "\(directory)/\(lockName)", O_RDWR) else {
      return true
    }
    return (try? file.lock(exclusive: true, offset: 0, length: 0, wait: false)) != nil
  }

  private static func removeLeft(_ directory: String) {
    try? PathCalls.removeFile("\(directory)/\(lockName)")
    if let folder = try? Folder(directory), let names = try? folder.names() {
      for name in names { try? folder.removeDirectory(name.name) }
    }
    try? PathCalls.removeDirectory(directory)
  }
}
