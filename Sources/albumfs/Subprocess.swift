import ControlProtocol
import Glibc
import Posix

/// Programs that albumfs starts: fusermount3, a password command, and itself as the daemon. They
/// get our standard descriptors where not said otherwise, default signal handling, and no other
/// descriptor.
enum Subprocess {
  /// What stands at a descriptor of the new program.
  struct Redirection {
    var descriptor: CInt
    /// A descriptor of ours, or -1 for /dev/null.
    var source: CInt
  }

  /// Starts a program found along PATH, by default the one that the first argument names. The
  /// caller waits for it.
  static func start(
    _ arguments: [String], program: String? = nil, _ redirections: [Redirection] = []
  ) throws(Errno) -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for redirection in redirections {
      if redirection.source < 0 {
        unsafe posix_spawn_file_actions_addopen(
          &actions, redirection.descriptor, "/dev/null", O_RDWR, 0)
      } else {
        unsafe posix_spawn_file_actions_adddup2(
          &actions, redirection.source, redirection.descriptor)
      }
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    resetSignals(&attributes)
    return try unsafe spawn(program ?? arguments[0], arguments, &actions, &attributes)
  }

  /// Waits for the end: the exit code, or 128 and the signal's number.
  static func wait(_ pid: pid_t) throws(Errno) -> Int32 {
    var status: CInt = 0
    try retrying { unsafe waitpid(pid, &status, 0) }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
  }

  /// Runs a program to its end; answers its exit code and what it wrote to standard error.
  static func run(_ arguments: [String]) throws(Errno) -> (code: Int32, complaint: String) {
    var ends: [CInt] = [-1, -1]
    try retrying { unsafe pipe(&ends) }
    let reading = FileDescriptor(owning: ends[0])
    let writing = FileDescriptor(owning: ends[1])
    setCloseOnExec(reading.rawValue)
    setCloseOnExec(writing.rawValue)
    let pid = try start(arguments, [Redirection(descriptor: 2, source: writing.rawValue)])
    try writing.close()
    var complaint: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let raw = reading.rawValue
      let count = try retrying {
        unsafe buffer.withUnsafeMutableBytes { unsafe read(raw, $0.baseAddress, $0.count) }
      }
      if count == 0 { break }
      complaint += buffer[..<count]
    }
    return (try wait(pid), String(decoding: complaint, as: UTF8.self))
  }

  /// The path of a program along PATH, nil where there is none.
  static func find(_ program: String) -> String? {
    let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin"
    for directory in path.split(separator: ":") where directory.hasPrefix("/") {
      let candidate = "\(directory)/\(program)"
      if unsafe access(candidate, X_OK) == 0 { return candidate }
    }
    return nil
  }

  static func setCloseOnExec(_ descriptor: CInt) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  private static func resetSignals(_ attributes: inout posix_spawnattr_t) {
    var all = sigset_t()
    var none = sigset_t()
    unsafe sigfillset(&all)
    unsafe sigemptyset(&none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
  }

  private static func spawn(
    _ program: String, _ arguments: [String], _ actions: inout posix_spawn_file_actions_t,
    _ attributes: inout posix_spawnattr_t
  ) throws(Errno) -> pid_t {
    var vector: [UnsafeMutablePointer<CChar>?] = unsafe []
    for argument in arguments { unsafe vector.append(strdup(argument)) }
    unsafe vector.append(nil)
    defer { unsafe vector.forEach { unsafe free($0) } }
    var pid: pid_t = 0
    let result = unsafe posix_spawnp(
      &pid, program, &actions, &attributes, vector, environ)
    if result != 0 { throw Errno(result) }
    return pid
  }
}
