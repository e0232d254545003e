internal import AlbumModel
internal import Glibc
internal import Posix

/// The sender of a request, from its header.
struct KernelCaller: Sendable {
  var user: UInt32
  var group: UInt32
  /// The permissions that a new inode does not get, unless its directory has a default ACL.
  var umask: UInt16 = 0
  /// The thread id of the caller in the daemon's pid namespace; 0 if it lies outside.
  var thread: Int32
}

/// The purpose for which a thread looks up a name.
enum CallerIntent: Equatable, Sendable {
  /// The thread is in mkdir or mkdirat, with that name as the last component of its path.
  case makesDirectory
  /// The thread is in an open with O_CREAT|O_EXCL, link, symlink, mknod, or rename with NOREPLACE.
  case createsExclusively
  /// The thread is in any other call.
  case other
  /// The system call cannot be read. Only the process and its name are known.
  case unreadable(process: Int32, command: String)
}

/// Reads what a calling thread is doing. The driver calls it only if the result matters, because it costs two
/// reads under /proc.
protocol CallerInspector: Sendable {
  func intent(of thread: Int32, toward name: FileName) -> CallerIntent
  /// The process that a thread belongs to; nil if it cannot be read.
  func process(of thread: Int32) -> Int32?
  func isRunning(_ process: Int32) -> Bool
}

/// Reads the purpose of a look-up from `/proc/<tid>/syscall` and the path in the thread's memory. That needs
/// the right to trace the thread: root's daemon has it, an ordinary user's only if Yama permits. Without it,
/// only the process and its name are known.
///
/// Any thread; no state. Uses only /proc, so it waits for no file system.
struct CallingSyscall: CallerInspector {
  private let readsSystemCalls: Bool

  /// `readsSystemCalls: false` behaves as if no thread could be traced.
  init(readsSystemCalls: Bool = true) { self.readsSystemCalls = readsSystemCalls }

  func intent(of thread: Int32, toward name: FileName) -> CallerIntent {
    guard thread > 0 else { return .unreadable(process: 0, command: "") }
    if readsSystemCalls, let intent = tracedIntent(of: thread, toward: name) { return intent }
    let process = process(of: thread) ?? 0
    return .unreadable(process: process, command: command(of: process))
  }

  func process(of thread: Int32) -> Int32? {
    guard thread > 0, let status = try? readWholeFile("/proc/\(thread)/status") else {
      return nil
    }
    return ThreadStatus.process(inStatus: status)
  }

  func isRunning(_ process: Int32) -> Bool { kill(process, 0) == 0 || errno != ESRCH }

  private func command(of process: Int32) -> String {
    guard process > 0, var name = try? readWholeFile("/proc/\(process)/comm") else { return "" }
    if name.last == UInt8(ascii: "\n") { name.removeLast() }
    return String(decoding: name, as: UTF8.self)
  }

  /// nil if the thread cannot be traced.
  private func tracedIntent(of thread: Int32, toward name: FileName) -> CallerIntent? {
    guard let text = try? readWholeFile("/proc/\(thread)/syscall") else { return nil }
    guard let call = SystemCall(procText: text), let creation = Creation(call) else {
      return .other
    }
    guard let memory = try? FileDescriptor(open: "/proc/\(thread)/mem", O_RDONLY) else {
      return nil
    }
    return creation.intent(toward: name) { address, limit in
      CallingSyscall.bytes(at: address, limit: limit, of: memory)
    }
  }

  /// Returns up to `limit` bytes of a process's memory, or fewer at the end of a mapping.
  private static func bytes(at address: UInt64, limit: Int, of memory: borrowing FileDescriptor)
    -> [UInt8]
  {
    guard let offset = Int64(exactly: address) else { return [] }
    return unsafe Array(unsafeUninitializedCapacity: limit) { buffer, count in
      count =
        (try? unsafe memory.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)) ?? 0
    }
  }
}

/// Reads /proc/<tid>/status (proc_pid_status(5)).
enum ThreadStatus {
  static func process(inStatus text: [UInt8]) -> Int32? {
    for line in text.split(separator: UInt8(ascii: "\n"))
    where line.starts(with: "Tgid:".utf8) {
      let digits = line.dropFirst(5).filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
      return Int32(String(decoding: digits, as: UTF8.self))
    }
    return nil
  }
}
