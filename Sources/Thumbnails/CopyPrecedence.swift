internal import Glibc
package import Posix

/// Makes decoding give way to copies. A decode that runs, with however small a share, is on the very
/// processor that the daemon needs a moment later. So the threads of a queue begin no picture while photos
/// are copied one after the other, unless the copy leaves processors idle, which shows while nothing is
/// decoded. Then they decode for a second before they look again. Any thread.
package final class CopyPrecedence: Sendable {
  /// The kernel counts processor time in hundredths of a second.
  private static let window = Duration.milliseconds(100)
  private static let turn = Duration.seconds(1)

  private struct State {
    /// When a look at the processors began.
    var begin: (time: ProcessorTime, at: MonotonicTime)?
    /// Copies go first again from then on.
    var turnEnd: MonotonicTime?
  }
  private let state = Mutex(State(), rank: .leaf)
  /// /proc/stat, or what stands for it in a test.
  private let processors: String

  package init(processors: String) { self.processors = processors }

  /// True if no picture may be begun now.
  package func holds(isCopying: Bool, now: MonotonicTime) -> Bool {
    if !isCopying {
      state.withLock { $0.begin = nil }
      return false
    }
    let isTurn = state.withLock { state in state.turnEnd.map { now < $0 } ?? false }
    if isTurn { return false }
    guard let time = ProcessorTime(in: processors) else { return true }
    return state.withLock { state in
      guard let (before, at) = state.begin else {
        state.begin = (time, now)
        return true
      }
      if now - at < CopyPrecedence.window { return true }
      let leavesRoom = time.leavesRoom(since: before)
      state.begin = leavesRoom ? nil : (time, now)
      if leavesRoom { state.turnEnd = now + CopyPrecedence.turn }
      return !leavesRoom
    }
  }
}

/// The time of all processors since the start of the machine, and how much of it they were idle, in ticks.
struct ProcessorTime: Equatable {
  var idle: UInt64
  var total: UInt64

  /// From the first line of /proc/stat: `cpu`, and the times in user programs, in those of low priority, in
  /// the kernel, idle, idle while a disk works, and others. nil if it is not there.
  init?(in file: String) {
    guard let bytes = try? readWholeFile(file),
      let line = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1).first
    else { return nil }
    let words = line.split(separator: UInt8(ascii: " "))
    let times = words.dropFirst().prefix(8).compactMap {
      UInt64(String(decoding: $0, as: UTF8.self))
    }
    guard words.first.map({ String(decoding: $0, as: UTF8.self) }) == "cpu", times.count >= 5 else {
      return nil
    }
    idle = times[3] &+ times[4]
    total = times.reduce(0, &+)
  }

  /// True if more was idle than a copy in memory leaves: program and daemon take turns, and use one
  /// processor in all.
  func leavesRoom(since before: ProcessorTime) -> Bool {
    let processors = Double(max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))))
    let passed = total &- before.total
    if passed == 0 || passed > .max / 2 { return false }
    let idle = Double(idle &- before.idle) / Double(passed) * processors
    return idle >= min(2, processors * 3 / 4) && idle <= processors
  }
}
