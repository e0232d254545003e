internal import AlbumModel
internal import Glibc
internal import Posix

/// Who sent a request: from its header.
struct KernelCaller: Sendable {
  var user: UInt32
  var group: UInt32
  /// Thread id of the caller in the daemon's pid namespace; 0 when it lies outside.
  var thread: Int32
}

/// What a thread that waits for a LOOKUP is about to do with the name it looks up.
enum CallerIntent: Equatable, Sendable {
  /// In mkdir or mkdirat, with that name as the last component of its path.
  case makesDirectory
  /// In an open with O_CREAT|O_EXCL, link, symlink, mknod, or rename with NOREPLACE.
  case createsExclusively
  /// In any other call.
  case other
  /// Its system call cannot be read: all that is known is its process and that one's name.
  case unreadable(process: Int32, command: String)
}

/// Reads what a calling thread is doing. Called only where it decides something, since it costs
/// two reads under /proc.
protocol CallerInspector: Sendable {
  func intent(of thread: Int32, toward name: FileName) -> CallerIntent
  /// The process that a thread belongs to, nil where it cannot be told.
  func process(of thread: Int32) -> Int32?
}

/// Tells what a thread that waits for a LOOKUP is about to do, from `/proc/<tid>/syscall` and the
/// path in its memory. Needs the right to trace that thread: root's daemon may, an ordinary user's
/// only where Yama lets it. Where it may not, the process and its name are all that is known.
///
/// Keeps no state; any thread. Touches nothing but /proc, so it can wait for no file system.
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

  private func command(of process: Int32) -> String {
    guard process > 0, var name = try? readWholeFile("/proc/\(process)/comm") else { return "" }
    if name.last == UInt8(ascii: "\n") { name.removeLast() }
    return String(decoding: name, as: UTF8.self)
  }

  /// nil when the thread cannot be traced.
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

  /// Up to `limit` bytes of a process's memory, fewer at the end of what is mapped.
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
