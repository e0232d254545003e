// For iovec and msghdr: the compiler may take them for CFuse3's, which includes the same C headers.
internal import CFuse3
internal import Glibc
internal import Posix

/// The set-uid program of libfuse that mounts and unmounts for ordinary users.
package enum Fusermount {
  private static let programs = [
    "/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3",
  ]

  /// Has it open the FUSE device and mount it; answers the open device, as it comes over a socket.
  static func mount(at mountPoint: String, options: String) throws(MountError) -> FileDescriptor {
    let sockets = try SocketPair()
    let words = try run(["-o", options, "--", mountPoint], connection: sockets.theirs)
    if let device = DescriptorMessage.receive(from: sockets.ours) { return device }
    throw refusal(words, at: mountPoint)
  }

  /// Detaches what is mounted there; what is open in it goes on.
  static func unmount(_ mountPoint: String) throws(MountError) {
    let nowhere = FileDescriptor(owning: -1)
    let words = try run(["-u", "-z", "--", mountPoint], connection: nowhere)
    if !words.isEmpty { throw refusal(words, at: mountPoint) }
  }

  /// What its complaint means. Empty words come from one that was killed.
  package static func refusal(_ words: String, at mountPoint: String) -> MountError {
    if words.contains("user_allow_other") {
      return MountError(
        .allowOtherNotPermitted,
        """
        --allow-other is not permitted: ask the administrator for the line user_allow_other in \
        /etc/fuse.conf, or mount without it.
        """)
    }
    if words.contains("device not found") { return .noDevice }
    if words.contains("no write access to mountpoint") || words.contains("mountpoint not owned") {
      return MountError(
        .mountPointNotPermitted,
        "\(mountPoint) is not yours to mount on: choose a directory of your own.")
    }
    return MountError(
      .refused, words.isEmpty ? "fusermount3 failed without a word." : "The mount failed: \(words)")
  }

  // MARK: Running it

  /// Runs it to its end; answers what it wrote to standard error. It gets no environment of ours, and
  /// English words to be understood by `refusal`.
  private static func run(_ arguments: [String], connection: borrowing FileDescriptor)
    throws(MountError) -> String
  {
    let errors = try SocketPair()
    let child = try start(
      arguments, errors: errors.theirs.rawValue, connection: connection.rawValue)
    let words = plain(errors.closeTheirsAndReadAll())
    var status: CInt = 0
    while unsafe waitpid(child, &status, 0) == -1 && errno == EINTR {}
    return words
  }

  private static func start(_ arguments: [String], errors: CInt, connection: CInt)
    throws(MountError) -> pid_t
  {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe _ = posix_spawn_file_actions_init(&actions)
    defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
    unsafe _ = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe _ = posix_spawn_file_actions_adddup2(&actions, errors, 2)
    if connection >= 0 {
      unsafe _ = posix_spawn_file_actions_adddup2(&actions, connection, 3)
    }
    let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "_FUSE_COMMFD=3"]
    for program in programs {
      var child = pid_t()
      let result = unsafe withCStrings([program] + arguments) { words in
        unsafe withCStrings(environment) { variables in
          unsafe posix_spawn(&child, program, &actions, nil, words, variables)
        }
      }
      if result == 0 { return child }
      if result != ENOENT { throw MountError(.refused, "\(program): \(Errno(result)).") }
    }
    throw MountError(
      .noFusermount,
      "The program fusermount3 is missing, without which only root can mount: install fuse3.")
  }

  /// Its complaint in one line, without its name before it.
  private static func plain(_ bytes: [UInt8]) -> String {
    let prefix = "fusermount3: "
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    return lines.map { $0.hasPrefix(prefix) ? $0.dropFirst(prefix.count) : $0 }
      .joined(separator: "; ")
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe body(copies)
  }
}

/// Two connected sockets, one of them to be handed to a child; neither leaks into another.
private struct SocketPair: ~Copyable {
  let ours: FileDescriptor
  let theirs: FileDescriptor

  init() throws(MountError) {
    var ends: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw MountError(.refused, "Cannot make a socket: \(Errno.last).")
    }
    ours = FileDescriptor(owning: ends[0])
    theirs = FileDescriptor(owning: ends[1])
  }

  /// What comes from the child, until it has closed its end.
  consuming func closeTheirsAndReadAll() -> [UInt8] {
    let ours = self.ours
    try? self.theirs.close()
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1024)
    while true {
      let count = (try? unsafe chunk.withUnsafeMutableBytes { try unsafe ours.read(into: $0) }) ?? 0
      if count == 0 { return bytes }
      bytes += chunk[..<count]
    }
  }
}

/// An open descriptor that comes over a socket (SCM_RIGHTS, unix(7)).
enum DescriptorMessage {
  /// nil when the other side sent none. Does not wait.
  static func receive(from socket: borrowing FileDescriptor) -> FileDescriptor? {
    let raw = receive(from: socket.rawValue)
    return raw >= 0 ? FileDescriptor(owning: raw) : nil
  }

  /// -1 for none.
  private static func receive(from socket: CInt) -> CInt {
    // One struct cmsghdr with one int: 16 bytes of header and 4 of data, padded.
    unsafe withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { room in
      unsafe room.initializeMemory(as: UInt8.self, repeating: 0)
      var data = unsafe iovec(iov_base: room.baseAddress! + 56, iov_len: 1)
      var message = unsafe msghdr()
      let count = unsafe withUnsafeMutablePointer(to: &data) { data in
        unsafe message.msg_iov = data
        unsafe message.msg_iovlen = 1
        unsafe message.msg_control = room.baseAddress
        unsafe message.msg_controllen = 48
        return unsafe recvmsg(
          socket, &message, CInt(MSG_DONTWAIT) | CInt(MSG_CMSG_CLOEXEC))
      }
      let level = unsafe room.load(fromByteOffset: 8, as: CInt.self)
      let type = unsafe room.load(fromByteOffset: 12, as: CInt.self)
      guard count > 0, unsafe message.msg_controllen >= 20, level == SOL_SOCKET,
        type == SCM_RIGHTS
      else { return -1 }
      return unsafe room.load(fromByteOffset: 16, as: CInt.self)
    }
  }
}
