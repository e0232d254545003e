import AlbumModel
internal import Glibc
package import Posix

/// Limits a wait for a worker.
package protocol WaitLimit {
  /// The time of the next `look` at the latest.
  var nextLook: MonotonicTime { get }
  /// Throws when the wait is over.
  func look() throws(Worker.Failure)
}

extension MonotonicTime: WaitLimit {
  package var nextLook: MonotonicTime { self }
  package func look() throws(Worker.Failure) { if MonotonicTime.now >= self { throw .timedOut } }
}

/// One try at one picture: what it may cost, whether the thumbnail is still wanted, and whether the worker
/// gets too little of the processor. For one thread.
///
/// It counts processor time, and time in which the worker waits for nothing. Other programs may keep the
/// processor from the worker, so elapsed time alone would blame the picture for that.
package final class Attempt: WaitLimit {
  /// The time between two looks at the worker.
  static let interval = Duration.milliseconds(100)
  /// More threads than any decoder starts.
  static let threadLimit = 128

  private let process: pid_t
  private let allowance: Int64
  private let isWanted: () -> Bool
  private let mayHaveMore: () -> Bool
  private var charged: Int64 = 0
  private var lastLook = MonotonicTime.now
  private var lastUsed: Int64

  /// After `isWanted` has returned false, neither is called again. `mayHaveMore` returns true if the worker
  /// may be replaced by one with a greater share of the processor.
  init(
    process: pid_t, allowance: Duration, isWanted: @escaping () -> Bool,
    mayHaveMore: @escaping () -> Bool
  ) {
    self.process = process
    self.allowance = allowance.milliseconds
    self.isWanted = isWanted
    self.mayHaveMore = mayHaveMore
    lastUsed = ProcessLook.processorMilliseconds(of: process)
  }

  package var nextLook: MonotonicTime { lastLook + Attempt.interval }

  package func look() throws(Worker.Failure) {
    let now = MonotonicTime.now
    if now < nextLook { return }
    if !isWanted() { throw .abandoned }
    let passed = (now - lastLook).milliseconds
    let used = ProcessLook.processorMilliseconds(of: process)
    let threads = ProcessLook.threads(of: process)
    if threads.count > Attempt.threadLimit { throw .died }
    let isStarved = Attempt.isStarved(
      passed: passed, used: used - lastUsed, wantsProcessor: threads.wantProcessor)
    charged += Attempt.charge(
      passed: passed, used: used - lastUsed, wantsProcessor: threads.wantProcessor)
    lastLook = now
    lastUsed = used
    if charged >= allowance { throw .timedOut }
    if isStarved, mayHaveMore() { throw .starved }
  }

  /// Ends a time in which the worker waited for the daemon: of that, only its processor time counts.
  func resume() throws(Worker.Failure) {
    let used = ProcessLook.processorMilliseconds(of: process)
    charged += used - lastUsed
    lastUsed = used
    lastLook = .now
    if charged >= allowance { throw .timedOut }
  }

  /// The milliseconds that a stretch of time counts.
  package static func charge(passed: Int64, used: Int64, wantsProcessor: Bool) -> Int64 {
    wantsProcessor || used * 2 > passed ? used : passed
  }

  /// True if other programs had the processor for most of a stretch of time in which the worker wanted it.
  package static func isStarved(passed: Int64, used: Int64, wantsProcessor: Bool) -> Bool {
    wantsProcessor && used * 2 < passed
  }
}

/// Reads what the kernel reports of another process.
enum ProcessLook {
  /// Processor time of all its threads; 0 if it is gone.
  static func processorMilliseconds(of process: pid_t) -> Int64 {
    var clock = clockid_t()
    var time = timespec()
    guard unsafe clock_getcpuclockid(process, &clock) == 0,
      unsafe clock_gettime(clock, &time) == 0
    else { return 0 }
    return (Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)).milliseconds
  }

  /// The number of its threads, and whether one of them waits for the processor or the disk. If /proc hides
  /// them (hidepid), the number is 0; such a worker is used only if the kernel limits its threads
  /// (`WorkerThread.startProblem`).
  static func threads(
    of process: pid_t, in processes: String = "/proc"
  ) -> (count: Int, wantProcessor: Bool) {
    guard let directory = unsafe opendir("\(processes)/\(process)/task") else { return (0, false) }
    defer { unsafe _ = closedir(directory) }
    var count = 0
    var wantProcessor = false
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
      }
      if name.hasPrefix(".") { continue }
      count += 1
      if count > Attempt.threadLimit { break }
      if !wantProcessor, let state = state("/proc/\(process)/task/\(name)/stat") {
        wantProcessor = state == UInt8(ascii: "R") || state == UInt8(ascii: "D")
      }
    }
    return (count, wantProcessor)
  }

  /// The state letter after the name, which is in parentheses and may contain any character.
  private static func state(_ path: String) -> UInt8? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    if file < 0 { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let length = unsafe read(file, &bytes, bytes.count)
    guard length > 0, let end = bytes[..<length].lastIndex(of: UInt8(ascii: ")")) else {
      return nil
    }
    return end + 2 < length ? bytes[end + 2] : nil
  }
}
