import Foundation
import Glibc
import Posix

/// Stores that tests begin with. Each kind is made once in a process, and every test gets a copy. The copies
/// are equal, salts and keys included, as copies of a user's store are.
enum Templates {
  private static let made = Mutex<[String: String]>([:], rank: .test)

  /// A folder that others can enter, removed when the process ends.
  private static let folder: String = {
    let path = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appendingPathComponent("albumfs-test-templates-\(UUID().uuidString)").path
    _ = unsafe mkdir(path, 0o755)
    atexit { try? FileManager.default.removeItem(atPath: Templates.folder) }
    return path
  }()

  /// Returns the path of a store of this kind. `make` gets a folder of its own, in which anybody can write,
  /// and makes `store` there. Two tests may make the same kind at once, and both get a good one.
  static func store(_ kind: String, _ make: (String) throws -> Void) throws -> String {
    if let known = made.withLock({ $0[kind] }) { return known }
    let path = folder + "/" + UUID().uuidString
    guard unsafe mkdir(path, 0o777) == 0, unsafe chmod(path, 0o777) == 0 else { throw Errno.last }
    try make(path)
    return made.withLock { made in
      let store = made[kind] ?? path + "/store"
      made[kind] = store
      return store
    }
  }
}
