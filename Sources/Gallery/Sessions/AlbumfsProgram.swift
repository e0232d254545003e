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

  /// Unmounts at once, also what is in use.
  func unmount(_ point: String) {
    _ = try? Subprocess.run([launch.albumfs, "lock", "--quiet", point], input: [])
    try? PathCalls.removeDirectory(point)
  }
}
