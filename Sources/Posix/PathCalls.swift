internal import CLinux
internal import Glibc

/// System calls on paths, and the environment: C strings begin and end here.
package enum PathCalls {
  /// access(2) with X_OK.
  package static func isExecutable(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }

  package static func exists(_ path: some SystemPath) -> Bool {
    unsafe access(path.cString, F_OK) == 0
  }

  /// realpath(3): absolute, without links. Throws if a part of the path is missing or does not respond.
  package static func real(_ path: String) throws(Errno) -> String {
    guard let real = unsafe realpath(path, nil) else { throw .last }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }

  /// stat(2): the user who owns a path; nil if it cannot be seen.
  package static func owner(of path: String) -> UInt32? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? status.st_uid : nil
  }

  /// getcwd(3); nil where the directory is gone.
  package static var currentDirectory: String? {
    guard let path = unsafe getcwd(nil, 0) else { return nil }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// chdir(2) for the whole process.
  package static func changeToRoot() { _ = unsafe chdir("/") }

  /// readlink(2); nil where it is no link, or gone.
  package static func target(ofLink path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink(path, &buffer, buffer.count)
    if count <= 0 { return nil }
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The device of the file that a path leads to, without a request to its file system; nil where there is
  /// none.
  package static func device(of path: String) -> DeviceNumber? {
    var number = DeviceNumber(major: 0, minor: 0)
    let result = unsafe clinux_device(path, &number.major, &number.minor)
    return result == 0 ? number : nil
  }

  /// True if a path leads to a directory, without a request to its file system.
  package static func isDirectory(_ path: String) -> Bool {
    unsafe clinux_is_directory(path) != 0
  }

  /// mkdir(2): a directory that nobody else may look into.
  package static func makePrivateDirectory(_ path: String) throws(Errno) {
    try retrying { unsafe mkdir(path, 0o700) }
  }

  /// unlink(2).
  package static func removeFile(_ path: some SystemPath) throws(Errno) {
    let path = path.cString
    try retrying { unsafe unlink(path) }
  }

  /// rename(2): replaces what has the new name.
  package static func rename(_ path: String, over new: String) throws(Errno) {
    try retrying { unsafe Glibc.rename(path, new) }
  }

  /// rmdir(2).
  package static func removeDirectory(_ path: some SystemPath) throws(Errno) {
    let path = path.cString
    try retrying { unsafe rmdir(path) }
  }

  /// umount2(2), never through a link. `lazy`: out of sight at once, though files are open in it.
  package static func unmount(_ path: String, lazy: Bool) throws(Errno) {
    let flags = CInt(UMOUNT_NOFOLLOW) | (lazy ? CInt(MNT_DETACH) : 0)
    try retrying { unsafe umount2(path, flags) }
  }

  /// All variables of the environment, as `NAME=value`.
  package static var environment: [String] {
    var entries: [String] = []
    var place = unsafe environ
    while let entry = unsafe place.pointee {
      unsafe entries.append(String(cString: entry))
      unsafe place += 1
    }
    return entries
  }

  /// A variable of the environment; nil where it is not set.
  package static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }
}
