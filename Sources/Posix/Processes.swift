internal import CLinux
internal import Glibc

/// Starts programs: fusermount3, a password command, thumbnailers, and albumfs itself as the daemon. They
/// inherit the standard descriptors unless redirected, and get default signal handling.
package enum Subprocess {
  /// Replaces a descriptor of the new program.
  package struct Redirection {
    var descriptor: CInt
    var source: CInt

    /// `source` is a descriptor of this process, or -1 for /dev/null.
    package init(_ descriptor: CInt, _ source: CInt) {
      self.descriptor = descriptor
      self.source = source
    }
  }

  /// For programs whose output albumfs parses: English messages, and nothing of the caller's environment.
  package static let plainEnvironment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]

  /// Starts a program found along PATH, by default the one that the first argument names. The caller waits
  /// for its end. Makes the redirections in their order.
  ///
  /// - Parameters:
  ///   - environment: the caller's if nil.
  ///   - isolated: gives the program a session and process group of its own, and no descriptor above the
  ///     redirected ones.
  ///   - keepsIgnoredSignals: lets it ignore what this process ignores, as `nohup` wants it.
  package static func start(
    _ arguments: [String], program: String? = nil, _ redirections: [Redirection] = [],
    environment: [String]? = nil, isolated: Bool = false, keepsIgnoredSignals: Bool = false
  ) throws(Errno) -> Int32 {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for redirection in redirections {
      let (descriptor, source) = (redirection.descriptor, redirection.source)
      if source < 0 {
        unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
      } else {
        unsafe posix_spawn_file_actions_adddup2(&actions, source, descriptor)
      }
    }
    if isolated {
      let first = max(STDERR_FILENO, redirections.map(\.descriptor).max() ?? 0) + 1
      unsafe _ = clinux_spawn_close_from(&actions, first)
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    var flags = POSIX_SPAWN_SETSIGMASK
    if !keepsIgnoredSignals { flags |= POSIX_SPAWN_SETSIGDEF }
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(flags) | (isolated ? clinux_spawn_session_flag() : 0))
    var pid: pid_t = 0
    let result = unsafe withCStrings(arguments) { words in
      guard let environment else {
        return unsafe posix_spawnp(
          &pid, program ?? arguments[0], &actions, &attributes, words, environ)
      }
      return unsafe withCStrings(environment) { variables in
        unsafe posix_spawnp(
          &pid, program ?? arguments[0], &actions, &attributes, words, variables)
      }
    }
    if result != 0 { throw Errno(result) }
    return pid
  }

  /// Replaces this process by a program (execv(3)). Returns only if that fails.
  package static func replace(by program: String, _ arguments: [String]) -> Errno {
    unsafe withCStrings(arguments) { words in unsafe _ = execv(program, words) }
    return .last
  }

  /// Runs a program to its end with `input` as its standard input, in a session of its own. Returns its exit
  /// code and its standard output, at most `limit` bytes. Its messages go nowhere.
  package static func run(
    _ arguments: [String], input: [UInt8], outputLimit limit: Int = 1 << 16
  ) throws(Errno) -> (code: Int32, output: [UInt8]) {
    let (ours, theirs) = try makeSocketPair()
    let channel = FileDescriptor(owning: ours)
    let other = FileDescriptor(owning: theirs)
    let redirections = [
      Redirection(STDIN_FILENO, theirs), Redirection(STDOUT_FILENO, theirs),
      Redirection(STDERR_FILENO, -1),
    ]
    let pid = try start(arguments, redirections, isolated: true)
    try other.close()
    do throws(Errno) { try channel.writeAll(input) } catch {
      // A program that reads nothing may have ended.
      if error != Errno(EPIPE), error != Errno(ECONNRESET) { throw error }
    }
    _ = shutdown(channel.rawValue, CInt(SHUT_WR))
    let output = (try? channel.readToEnd()) ?? []
    return (try wait(pid), Array(output.prefix(limit)))
  }

  /// Waits for the end; returns the exit code, or 128 plus the signal's number.
  package static func wait(_ pid: Int32) throws(Errno) -> Int32 {
    var status: CInt = 0
    try retrying { unsafe waitpid(pid, &status, 0) }
    return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
  }

  /// Runs a program to its end. Returns its exit code and its standard error.
  package static func run(
    _ arguments: [String], _ redirections: [Redirection] = [], environment: [String]? = nil
  ) throws(Errno) -> (code: Int32, complaint: String) {
    let (ours, theirs) = try makeSocketPair()
    let reading = FileDescriptor(owning: ours)
    let writing = FileDescriptor(owning: theirs)
    let pid = try start(
      arguments, redirections + [Redirection(STDERR_FILENO, theirs)], environment: environment)
    try writing.close()
    let complaint = try reading.readToEnd()
    return (try wait(pid), String(decoding: complaint, as: UTF8.self))
  }

  /// The path of a program along PATH; nil if there is none.
  package static func find(_ program: String, in path: String = callersPath) -> String? {
    for directory in path.split(separator: ":") where directory.hasPrefix("/") {
      let candidate = "\(directory)/\(program)"
      if PathCalls.isExecutable(candidate) { return candidate }
    }
    return nil
  }

  /// libfuse's set-uid program that mounts and unmounts for ordinary users, along PATH.
  package static func fusermount(in path: String = callersPath) -> String? {
    find("fusermount3", in: path)
  }

  private static let systemPath = "/usr/bin:/bin:/usr/local/bin"

  package static var callersPath: String {
    PathCalls.variable("PATH") ?? systemPath
  }

  package static func setCloseOnExec(_ descriptor: CInt) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(copies)
  }
}

/// A process whose end can be awaited. Another process that gets the same number later is not taken for it.
package struct ProcessHandle: ~Copyable {
  private let descriptor: FileDescriptor

  /// nil if there is no such process, or the kernel is older than Linux 5.3.
  package init?(_ pid: Int32) {
    let raw = clinux_pidfd_open(pid)
    if raw == -1 { return nil }
    descriptor = FileDescriptor(owning: raw)
  }

  /// Returns true when the process has ended and the kernel has closed its files, or false after
  /// `milliseconds`.
  @discardableResult package func waitForEnd(atMost milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
    let ready = try? retrying { unsafe poll(&entry, 1, milliseconds) }
    return ready == 1
  }
}

/// Facts about processes from proc(5).
package enum ProcessState {
  /// The numbers of all processes, in their order.
  package static func all() -> [Int32] {
    ((try? PlainFiles.names(in: "/proc")) ?? []).compactMap { Int32($0) }.sorted()
  }

  /// The name of the program, at most 15 bytes; empty if there is no such process.
  package static func name(of pid: Int32) -> String {
    let name = (try? readWholeFile("/proc/\(pid)/comm")) ?? []
    return String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// True of a process that was killed and still has a thread: its first thread is a zombie.
  package static func isZombie(_ pid: Int32) -> Bool { ["Z", "X"].contains(letter(of: pid)) }

  /// True of a process that SIGSTOP or a debugger stopped.
  package static func isStopped(_ pid: Int32) -> Bool { ["T", "t"].contains(letter(of: pid)) }

  /// True if one process has started another one, or a process between them.
  package static func descends(_ pid: Int32, from ancestor: Int32) -> Bool {
    var pid = pid
    // A number that was given anew in the meantime cannot lead in a circle for ever.
    for _ in 0..<64 {
      guard let parent = stat("\(pid)")?.parent, parent > 0 else { return false }
      if parent == ancestor { return true }
      pid = parent
    }
    return false
  }

  /// nil if there is no such process.
  private static func letter(of pid: Int32) -> String? { stat("\(pid)")?.letter }

  /// The name, the state and the parent of a process or thread; nil if there is none.
  fileprivate static func stat(_ path: String) -> (name: String, letter: String, parent: Int32)? {
    guard let bytes = try? readWholeFile("/proc/\(path)/stat") else { return nil }
    // The name before the state is in parentheses and may contain any character.
    let text = String(decoding: bytes, as: UTF8.self)
    guard let begin = text.firstIndex(of: "("), let end = text.lastIndex(of: ")"), begin < end
    else { return nil }
    let fields = text[text.index(after: end)...].split(separator: " ", maxSplits: 2)
    guard fields.count > 1, let parent = Int32(fields[1]) else { return nil }
    return (String(text[text.index(after: begin)..<end]), String(fields[0]), parent)
  }
}

/// A thread of this process, as proc(5) shows it.
package struct ThreadState: Sendable {
  /// The kernel's number.
  package let number: Int32
  package let name: String
  /// `R` of a thread that runs, `S` of one that waits, `D` of one that waits and takes no signal.
  package let letter: String
  /// The function of the kernel in which the thread waits; nil if it runs, or if the kernel does not say.
  package let waitsIn: String?

  /// All threads, in the order of their numbers.
  package static func all() -> [ThreadState] {
    let directory = "/proc/self/task"
    let numbers = ((try? PlainFiles.names(in: directory)) ?? []).compactMap { Int32($0) }
    return numbers.sorted().compactMap { ThreadState($0, "\(directory)/\($0)") }
  }

  /// nil if the thread has ended.
  private init?(_ number: Int32, _ directory: String) {
    guard let stat = ProcessState.stat("self/task/\(number)") else { return nil }
    self.number = number
    (name, letter) = (stat.name, stat.letter)
    let function = (try? readWholeFile("\(directory)/wchan")).map {
      String(decoding: $0, as: UTF8.self)
    }
    waitsIn = function.flatMap { $0.isEmpty || $0 == "0" ? nil : $0 }
  }
}

/// The user and the groups of the calling process.
package enum Credentials {
  package static var user: UInt32 { geteuid() }

  /// Its supplementary groups (getgroups(2)); none if the kernel does not report them.
  package static func groups() -> Set<UInt32> {
    let count = getgroups(0, nil)
    if count <= 0 { return [] }
    var groups = [gid_t](repeating: 0, count: Int(count))
    let found = unsafe getgroups(count, &groups)
    return Set(groups.prefix(max(0, Int(found))))
  }
}
