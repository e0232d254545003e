internal import Glibc

/// Directories for the sockets of daemons. The name of a socket protects it only in a directory that nobody
/// but its owner can enter. So albumfs checks each directory before use: it must be a directory, not a
/// link, belong to the user, and be closed to everybody else (0700).
package struct ControlPlaces: Sendable {
  /// The user who runs the daemons.
  package let user: UInt32
  /// Runtime directories of that user (XDG Base Directory Specification), best first.
  let runtimes: [String]
  /// Directories in which anybody can create files.
  let shared: [String]

  package init(user: UInt32, runtimes: [String], shared: [String]) {
    self.user = user
    self.runtimes = runtimes
    self.shared = shared
  }

  /// The directories of this system. The runtime directory of the environment counts only if it belongs to
  /// that user: sudo and su may leave another user's there.
  package init(of user: UInt32) {
    let named = unsafe getenv("XDG_RUNTIME_DIR").map { unsafe String(cString: $0) }
    self.init(
      user: user, runtimes: (named.map { [$0] } ?? []) + ["/run/user/\(user)"],
      shared: ["/run", "/tmp"])
  }

  /// Directories that exist and that only the user can enter.
  func existing() -> [String] {
    runtimes.filter(isPrivate).map { $0 + "/albumfs" }.filter(isPrivate)
      + shared.map(ownName).filter(isPrivate)
  }

  /// Directories for a new socket, best first. Creates missing ones. There is at least one, unless none can
  /// be created anywhere.
  package func make() -> [String] {
    let candidates =
      runtimes.filter(isPrivate).map { $0 + "/albumfs" } + shared.map(ownName)
    var made = candidates.filter { path in
      unsafe _ = mkdir(path, 0o700)
      return isPrivate(path)
    }
    // Another user has taken the usual names: use a name that nobody can predict.
    if made.isEmpty, let last = shared.last, let path = temporary(in: last) { made.append(path) }
    return made
  }

  private func ownName(in directory: String) -> String { "\(directory)/albumfs-\(user)" }

  private func temporary(in directory: String) -> String? {
    // mkdtemp(3) replaces the last six letters, which must be X.
    let letters = String(repeating: "X", count: 6)
    var template = Array("\(ownName(in: directory))-\(letters)".utf8CString)
    let isMade = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe mkdtemp(buffer.baseAddress!) != nil
    }
    if !isMade { return nil }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// True for a directory that belongs to the user and that nobody else can enter.
  func isPrivate(_ path: String) -> Bool {
    var status = stat()
    guard path.hasPrefix("/"), unsafe lstat(path, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == user
      && status.st_mode & 0o077 == 0
  }
}
