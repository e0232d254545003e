import AlbumModel
internal import CLinux
internal import Glibc
import Posix

/// The process at the other end of a local socket, as the kernel reports it.
package struct Peer: Sendable, Equatable {
  package var pid: Int32
  package var user: UInt32
  package init(pid: Int32, user: UInt32) {
    self.pid = pid
    self.user = user
  }
}

/// The socket of one mount: a file `<major>:<minor>.<process>.<random>` in a directory that only the user can
/// enter (`ControlPlaces`). The name begins with the mount's device number. The kernel reuses that number as
/// soon as the mount is gone, so the rest makes each name unique. Each side still asks the kernel who the
/// other is.
struct ControlSocket: ~Copyable {
  let listener: FileDescriptor
  let path: String
  private let identity: (UInt, UInt)

  /// Seconds to wait for a connection: a stopped daemon accepts none.
  static let connectSeconds = 5.0
  /// A socket that refuses connections stays for this many seconds: its daemon may be about to listen.
  private static let staleAfter = 10

  // MARK: The daemon's side

  /// Creates a listening socket. Removes the sockets of killed daemons from the same directory.
  init(listeningFor device: DeviceNumber, in places: ControlPlaces) throws(Errno) {
    var failure = Errno.noEntry
    // A daemon that ends at the same time may remove the empty directory.
    for _ in 0..<3 {
      for directory in places.make() {
        ControlSocket.removeStale(in: directory)
        do throws(Errno) {
          self = try ControlSocket(bound: device, directory)
          return
        } catch {
          failure = error
        }
      }
    }
    throw failure
  }

  private init(bound device: DeviceNumber, _ directory: String) throws(Errno) {
    let random = String(UInt64.random(in: .min ... .max), radix: 16)
    let path = "\(directory)/\(device).\(getpid()).\(random)"
    let socket = try ControlSocket.make()
    let raw = socket.rawValue
    try unsafe ControlSocket.withAddress(path) { unsafe Glibc.bind(raw, $0, $1) }
    unsafe _ = chmod(path, 0o600)
    guard let identity = ControlSocket.identity(of: path) else { throw .noEntry }
    try retrying { Glibc.listen(raw, 16) }
    // Two threads may accept.
    try retrying { fcntl(raw, F_SETFL, O_NONBLOCK) }
    listener = socket
    self.path = path
    self.identity = identity
  }

  /// True while the path leads to this socket: a program that cleans up runtime directories may have removed
  /// it.
  var isInPlace: Bool {
    guard let found = ControlSocket.identity(of: path) else { return false }
    return found == identity
  }

  /// Removes the socket's name, and its directory if that is empty.
  func unlink() {
    if isInPlace { unsafe _ = Glibc.unlink(path) }
    let directory = path.split(separator: "/").dropLast().joined(separator: "/")
    unsafe _ = rmdir("/" + directory)
  }

  static func accept(_ listener: CInt) throws(Errno) -> FileDescriptor {
    FileDescriptor(owning: try retrying { clinux_accept(listener) })
  }

  // MARK: The client's side

  /// The sockets of a mount, the newest first. Looks where its user's daemons create them, and in the
  /// kernel's list: under sudo, cron or ssh the daemon's runtime directory may differ from the one that this
  /// process would choose.
  static func paths(of device: DeviceNumber, in places: ControlPlaces) -> [String] {
    candidates(in: places, beginningWith: "\(device).")
      .compactMap { path in changeTime(of: path).map { (path, $0) } }
      .sorted { $0.1 > $1.1 }.map(\.0)
  }

  /// The sockets of all daemons of the user.
  static func all(in places: ControlPlaces) -> [String] {
    candidates(in: places, beginningWith: "").filter { changeTime(of: $0) != nil }.sorted()
  }

  /// The paths of sockets in private directories whose names begin so.
  private static func candidates(
    in places: ControlPlaces, beginningWith prefix: String
  ) -> Set<String> {
    var found: Set<String> = []
    for directory in places.existing() {
      for name in names(in: directory) where name.hasPrefix(prefix) {
        found.insert("\(directory)/\(name)")
      }
    }
    for path in bound() {
      let parts = path.split(separator: "/")
      guard parts.count > 1, parts[parts.count - 1].hasPrefix(prefix),
        parts[parts.count - 2].hasPrefix("albumfs"),
        places.isPrivate("/" + parts.dropLast().joined(separator: "/"))
      else { continue }
      found.insert(path)
    }
    return found
  }

  /// The device number of the mount, from the name of its socket.
  static func device(_ path: String) -> DeviceNumber? {
    let name = path.split(separator: "/").last ?? ""
    let numbers = name.prefix { $0 != "." }.split(separator: ":").map { UInt32($0) }
    guard numbers.count == 2, let major = numbers[0], let minor = numbers[1] else { return nil }
    return DeviceNumber(major: major, minor: minor)
  }

  /// The process that created the socket, from its name.
  static func process(_ path: String) -> Int32? {
    let parts = (path.split(separator: "/").last ?? "").split(separator: ".")
    return parts.count > 1 ? Int32(parts[1]) : nil
  }

  /// Connects. Throws `ECONNREFUSED` if the daemon is gone, and `.again` if it does not accept within
  /// `seconds`.
  static func connect(to path: String, seconds: Double = connectSeconds) throws(Errno)
    -> FileDescriptor
  {
    let socket = try make()
    let raw = socket.rawValue
    try setSendTimeout(raw, seconds: seconds)
    try unsafe withAddress(path) { unsafe Glibc.connect(raw, $0, $1) }
    try setSendTimeout(raw, seconds: 0)
    return socket
  }

  /// Removes the sockets that killed daemons of a mount have left.
  static func removeStale(of device: DeviceNumber, in places: ControlPlaces) {
    for path in paths(of: device, in: places) where isStale(path) {
      unsafe _ = Glibc.unlink(path)
    }
  }

  private static func removeStale(in directory: String) {
    let limit = Int(SystemClock.wall().seconds) - staleAfter
    for name in names(in: directory) {
      let path = "\(directory)/\(name)"
      if let changed = changeTime(of: path), changed.seconds < limit, isStale(path) {
        unsafe _ = Glibc.unlink(path)
      }
    }
  }

  /// A socket refuses connections between bind(2) and listen(2), too: it is stale when its process is gone.
  private static func isStale(_ path: String) -> Bool {
    guard isRefusing(path) else { return false }
    guard let process = process(path), process > 0 else { return true }
    return kill(process, 0) == -1 && errno == ESRCH || ProcessState.isZombie(process)
  }

  private static func isRefusing(_ path: String) -> Bool {
    // A daemon that accepts no connection is alive; a short wait is enough to see that.
    do throws(Errno) { _ = try connect(to: path, seconds: 0.001) } catch {
      return error == Errno(ECONNREFUSED)
    }
    return false
  }

  // MARK: Both sides

  static func peer(of socket: borrowing FileDescriptor) throws(Errno) -> Peer {
    // struct ucred, which Glibc's module hides: pid, uid, gid.
    var credentials: (Int32, UInt32, UInt32) = (0, 0, 0)
    var size = socklen_t(MemoryLayout.size(ofValue: credentials))
    let raw = socket.rawValue
    try retrying { unsafe getsockopt(raw, SOL_SOCKET, SO_PEERCRED, &credentials, &size) }
    return Peer(pid: credentials.0, user: credentials.1)
  }

  private static func make() throws(Errno) -> FileDescriptor {
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    return FileDescriptor(owning: try retrying { socket(AF_UNIX, kind, 0) })
  }

  private static func setSendTimeout(_ socket: CInt, seconds: Double) throws(Errno) {
    let whole = Int(seconds)
    var time = timeval(tv_sec: whole, tv_usec: Int((seconds - Double(whole)) * 1_000_000))
    let size = socklen_t(MemoryLayout<timeval>.size)
    try retrying { unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, size) }
  }

  private static func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) throws(Errno) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    // The rest of sun_path is zero; at least one zero must end the path.
    if bytes.count >= MemoryLayout.size(ofValue: address.sun_path) { throw .nameTooLong }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    try retrying {
      unsafe withUnsafePointer(to: address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
      }
    }
  }

  private static func names(in directory: String) -> [String] {
    (try? PlainFiles.names(in: directory)) ?? []
  }

  /// Paths of all sockets that are bound on this machine (proc_net(5)). The path follows after seven fields.
  private static func bound() -> [String] {
    let text = (try? readWholeFile("/proc/net/unix")) ?? []
    return text.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 7)
      guard fields.count == 8, fields[7].first == UInt8(ascii: "/") else { return nil }
      return String(decoding: fields[7], as: UTF8.self)
    }
  }

  private static func identity(of path: String) -> (UInt, UInt)? {
    status(of: path).map { (UInt($0.st_dev), UInt($0.st_ino)) }
  }

  private static func changeTime(of path: String) -> Moment? {
    status(of: path).map { Moment(seconds: $0.st_ctim.tv_sec, nanoseconds: $0.st_ctim.tv_nsec) }
  }

  private struct Moment: Comparable {
    var seconds: Int
    var nanoseconds: Int
    static func < (a: Moment, b: Moment) -> Bool {
      (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }
  }

  /// The status of a socket; nil for anything else.
  private static func status(of path: String) -> stat? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    return status
  }
}
