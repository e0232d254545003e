internal import Glibc

/// Directories that the sockets of daemons may lie in. The name of a socket protects it only in a
/// directory that nobody but its owner may enter, so each is looked at before it is used: a directory
/// and no link, the user's own, closed to everybody else (0700).
package struct ControlPlaces: Sendable {
  /// Whose daemons.
  package let user: UInt32
  /// Runtime directories of that user (XDG Base Directory Specification), best first.
  let runtimes: [String]
  /// Directories that anybody may make something in.
  let shared: [String]

  package init(user: UInt32, runtimes: [String], shared: [String]) {
    self.user = user
    self.runtimes = runtimes
    self.shared = shared
  }

  /// Those of this system. The environment's runtime directory counts only where it is that user's: sudo
  /// and su may leave another's there.
  package init(of user: UInt32) {
    let named = unsafe getenv("XDG_RUNTIME_DIR").map { unsafe String(cString: $0) }
    self.init(
      user: user, runtimes: (named.map { [$0] } ?? []) + ["/run/user/\(user)"],
      shared: ["/run", "/tmp"])
  }

  /// Directories that exist and are the user's alone.
  func existing() -> [String] {
    runtimes.filter(isPrivate).map { $0 + "/albumfs" }.filter(isPrivate)
      + shared.map(ownName).filter(isPrivate)
  }

  /// Directories for a new socket, best first, made where they are missing: at least one, unless
  /// nothing can be made anywhere.
  func make() -> [String] {
    let candidates =
      runtimes.filter(isPrivate).map { $0 + "/albumfs" } + shared.map(ownName)
    var made = candidates.filter { path in
      unsafe _ = mkdir(path, 0o700)
      return isPrivate(path)
    }
    // Somebody has the names that are the user's: then one that nobody knows before.
    if made.isEmpty, let last = shared.last, let path = temporary(in: last) { made.append(path) }
    return made
  }

  private func ownName(in directory: String) -> String { "\(directory)/albumfs-\(user)" }

  private func temporary(in directory: String) -> String? {
    var template = Array("\(ownName(in: directory))-XXXXXX".utf8CString)
    let isMade = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe mkdtemp(buffer.baseAddress!) != nil
    }
    if !isMade { return nil }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// True for a directory that belongs to the user and that nobody else may enter.
  func isPrivate(_ path: String) -> Bool {
    var status = stat()
    guard path.hasPrefix("/"), unsafe lstat(path, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == user
      && status.st_mode & 0o077 == 0
  }
}
