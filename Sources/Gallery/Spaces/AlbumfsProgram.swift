import ControlProtocol
import FoundationEssentials
import Posix

/// Runs `albumfs` as a child: it alone handles passwords and keys.
struct AlbumfsProgram: Sendable {
  let launch: GalleryLaunch
  let points: MountPoints

  enum Outcome: Sendable {
    case unlocked(GalleryMount)
    case refused
  }

  /// Finds or mounts the space that a password unlocks. The password goes over a pipe.
  func unlock(_ password: [UInt8]) -> Outcome {
    var words = [launch.albumfs, "session", "--password-stdin"]
    let point = launch.store.map { _ in points.newPath() }
    if let store = launch.store, let point { words += launch.mountOptions + [store, point] }
    if launch.store == nil { words.append("--mounted") }
    guard let (code, output) = try? Subprocess.run(words, input: password + [UInt8(ascii: "\n")]),
      code == 0, let found = try? JSONDecoder().decode(GalleryMount.self, from: Data(output))
    else { return .refused }
    return .unlocked(found)
  }

  /// Removes deleted files of a mounted space for good, if the password is one of the space.
  func purge(_ numbers: [UInt64], _ mountPoint: String, _ password: [UInt8]) throws {
    let words = [launch.albumfs, "deleted", "purge", "--quiet", "--password-stdin", mountPoint]
    var rest = numbers[...]
    while !rest.isEmpty {
      let part = rest.prefix(AlbumfsProgram.purgeLimit).map { String($0) }
      let result = try? Subprocess.run(words + part, input: password + [UInt8(ascii: "\n")])
      switch result?.code {
      case 0: rest = rest.dropFirst(part.count)
      case 1: throw GalleryError(.unknown)
      case 9, 10, 12: throw GalleryError(.refused)
      default: throw GalleryError(.failed)
      }
    }
  }

  /// The kernel limits the length of a program's arguments.
  private static let purgeLimit = 10_000

  /// Unmounts at once, also what is in use.
  func unmount(_ point: String) {
    _ = try? Subprocess.run([launch.albumfs, "lock", "--quiet", point], input: [])
    try? PathCalls.removeDirectory(point)
  }
}
