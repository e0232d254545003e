import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Glibc
import Posix
import Testing

@testable import FUSEDriver

/// Threads of this process that wait in a known system call: an open of a FIFO without a reader.
@Suite(.serialized) struct CallingSyscallTests {
  private let name = FileName(literal: "a.jpg")

  // An exclusive open of a FIFO fails instead of waiting for a reader. So sample texts test it here, and
  // MountTests tests it on a real mount.
  @Test func anOpenOfAnExistingFileCreatesNothing() throws {
    try withThreadOpening("a.jpg", O_WRONLY | O_CREAT) { thread in
      let inspector = CallingSyscall()
      #expect(inspector.intent(of: thread, toward: name) == .other)
      #expect(inspector.process(of: thread) == getpid())
    }
  }

  @Test func aThreadThatMayNotBeReadIsKnownByItsProcess() throws {
    try withThreadOpening("a.jpg", O_WRONLY) { thread in
      let inspector = CallingSyscall(readsSystemCalls: false)
      guard
        case .unreadable(let process, let command) = inspector.intent(of: thread, toward: name)
      else {
        Issue.record("the switch reads system calls")
        return
      }
      #expect(process == getpid())
      let own = try FileDescriptor(open: "/proc/self/comm", O_RDONLY)
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = unsafe read(own.rawValue, &bytes, bytes.count)
      #expect(String(decoding: bytes[..<max(0, count - 1)], as: UTF8.self) == command)
    }
  }

  @Test func aCallerOutsideOfOurSightIsUnreadable() {
    let unseen = CallerIntent.unreadable(process: 0, command: "")
    #expect(CallingSyscall().intent(of: 0, toward: name) == unseen)
    #expect(CallingSyscall().intent(of: Int32.max, toward: name) == unseen)
    #expect(CallingSyscall().process(of: 0) == nil)
    #expect(CallingSyscall().process(of: Int32.max) == nil)
  }

  /// Makes a thread wait in an open of a FIFO of that name, and passes its number to `body`.
  private func withThreadOpening(
    _ file: String, _ flags: CInt, _ body: (Int32) throws -> Void
  ) throws {
    try withTemporaryDirectory { directory in
      let path = "\(directory)/\(file)"
      #expect(unsafe mkfifo(path, 0o600) == 0)
      let before = try threads()
      let opener = Opener(path, flags)
      defer { opener.end() }
      var found: Int32?
      _ = try eventually {
        found = try threads().subtracting(before).first { isOpening($0) }
        return found != nil
      }
      try body(try #require(found))
    }
  }

  private func threads() throws -> Set<Int32> {
    Set(try PosixDirectory(path: "/proc/self/task").list("").compactMap { Int32($0) })
  }

  private func isOpening(_ thread: Int32) -> Bool {
    guard let file = try? FileDescriptor(open: "/proc/\(thread)/syscall", O_RDONLY) else {
      return false
    }
    var text = [UInt8](repeating: 0, count: 256)
    let count = unsafe read(file.rawValue, &text, text.count)
    guard let call = SystemCall(procText: Array(text[..<max(0, count)])) else { return false }
    #if arch(x86_64)
    return call.number == 257
    #else
    return call.number == 56
    #endif
  }
}

/// A thread that opens a FIFO for writing and closes it as soon as it can.
private final class Opener {
  private let path: String
  private var thread = pthread_t()

  init(_ path: String, _ flags: CInt) {
    self.path = path
    let context = unsafe Unmanaged.passRetained(Job(path: path, flags: flags)).toOpaque()
    unsafe pthread_create(
      &thread, nil,
      { context in
        let job = unsafe Unmanaged<Job>.fromOpaque(context!).takeRetainedValue()
        _ = try? FileDescriptor(open: job.path, job.flags)
        return nil
      }, context)
  }

  /// Opens the other end of the FIFO and waits for the end of the thread.
  func end() {
    let reader = try? FileDescriptor(open: path, O_RDONLY | O_NONBLOCK)
    pthread_join(thread, nil)
    _ = consume reader
  }

  private final class Job: Sendable {
    let path: String
    let flags: CInt
    init(path: String, flags: CInt) {
      self.path = path
      self.flags = flags
    }
  }
}
