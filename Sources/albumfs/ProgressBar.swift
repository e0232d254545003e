import AlbumCheck
import Glibc
import Posix

/// A line on the terminal that says how far a check or a compaction is, and how long it will still
/// take. Says nothing where there is no terminal. Any thread.
final class ProgressBar: Sendable {
  private struct State {
    var start: Int64 = 0
    var lastShown: Int64 = 0
  }
  private let state = Mutex(State())
  private let isShown: Bool
  private static let width = 24

  init(isShown: Bool) { self.isShown = isShown && isatty(STDERR_FILENO) == 1 }

  func show(_ progress: CheckProgress) {
    if !isShown { return }
    let now = SystemClock.monotonicMilliseconds()
    let elapsed = state.withLock { state -> Int64? in
      let isFirst = state.start == 0
      if progress.step == .records, isFirst { state.start = now }
      if progress.step == .records, !isFirst, now - state.lastShown < 100 { return nil }
      state.lastShown = now
      return state.start == 0 ? 0 : now - state.start
    }
    if let elapsed { Terminal.transient(ProgressBar.line(progress, milliseconds: elapsed)) }
  }

  /// The same for any work that is counted in bytes.
  func show(_ bytes: Int64, of total: Int64) {
    show(CheckProgress(step: .records, doneBytes: bytes, totalBytes: total))
  }

  func clear() { if isShown { Terminal.transient("") } }

  /// `[######------------------] 25 %, 1.2 GiB of 4.8 GiB, about 40 s left`
  static func line(_ progress: CheckProgress, milliseconds: Int64) -> String {
    switch progress.step {
    case .catalog: return "Reading the catalog"
    case .repair: return "Repairing"
    case .records: break
    }
    let share =
      progress.totalBytes > 0 ? Double(progress.doneBytes) / Double(progress.totalBytes) : 1
    let filled = Int(share * Double(width))
    let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
    let bytes =
      "\(SizeArgument.readable(progress.doneBytes)) of \(SizeArgument.readable(progress.totalBytes))"
    return "[\(bar)] \(Int(share * 100)) %, \(bytes)\(left(share, milliseconds))"
  }

  /// After a second, when a guess is worth something.
  private static func left(_ share: Double, _ milliseconds: Int64) -> String {
    guard milliseconds >= 1000, share > 0 else { return "" }
    let seconds = Int((Double(milliseconds) / 1000 * (1 - share) / share).rounded(.up))
    if seconds < 100 { return ", about \(seconds) s left" }
    return ", about \((seconds + 59) / 60) min left"
  }
}
