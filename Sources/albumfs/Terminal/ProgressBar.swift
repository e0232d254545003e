import AlbumCheck
import AlbumModel
import Glibc
import Posix

/// Shows on one line of the terminal what a command does, how far it is, and how long it will still take.
/// Shows nothing without a terminal. Any thread.
final class ProgressBar: Sendable {
  private struct State {
    var start: MonotonicTime?
    var lastShown = MonotonicTime(nanoseconds: 0)
  }
  private let state = Mutex(State(), rank: .leaf)
  /// What is being done: `Copying`.
  private let work: String
  private let isShown: Bool
  private static let width = 24

  init(_ work: String, isShown: Bool) {
    self.work = work
    self.isShown = isShown && Terminal.replacesLines
  }

  func show(_ progress: CheckProgress, _ items: String? = nil) {
    if !isShown { return }
    let now = MonotonicTime.now
    let elapsed = state.withLock { state -> Duration? in
      let isFirst = state.start == nil
      if progress.step == .records, isFirst { state.start = now }
      if progress.step == .records, !isFirst, now - state.lastShown < .milliseconds(100) {
        return nil
      }
      state.lastShown = now
      return state.start.map { now - $0 } ?? .zero
    }
    if let elapsed {
      Terminal.transient(
        ProgressBar.line(work, progress, items, elapsed: elapsed, columns: Terminal.columns))
    }
  }

  /// Shows the progress of any work that is counted in bytes, and perhaps in items such as `3 of 8 files`.
  func show(_ bytes: Int64, of total: Int64, _ items: String? = nil) {
    show(CheckProgress(step: .records, doneBytes: bytes, totalBytes: total), items)
  }

  func clear() { if isShown { Terminal.transient("") } }

  /// `Copying [######------------------] 25 %, 1.2 GiB of 4.8 GiB, about 40 s left`, or less of it: what is
  /// least worth goes where the terminal is too narrow. Its last column stays free, because some terminals
  /// wrap there.
  static func line(
    _ work: String, _ progress: CheckProgress, _ items: String?, elapsed: Duration, columns: Int
  ) -> String {
    let forms: [String]
    switch progress.step {
    case .catalog: forms = ["Reading the catalog"]
    case .repair: forms = ["Repairing"]
    case .records: forms = ProgressBar.forms(work, progress, items, elapsed)
    }
    return forms.first { $0.count < columns }
      ?? String((forms.last ?? "").prefix(max(0, columns - 1)))
  }

  /// The longest first.
  private static func forms(
    _ work: String, _ progress: CheckProgress, _ items: String?, _ elapsed: Duration
  ) -> [String] {
    let share =
      progress.totalBytes > 0
      ? min(1, max(0, Double(progress.doneBytes) / Double(progress.totalBytes))) : 1
    let percent = "\(Int(share * 100)) %"
    let left = left(share, elapsed)
    let bytes =
      "\(SizeArgument.readable(progress.doneBytes)) of \(SizeArgument.readable(progress.totalBytes))"
    let counts = items.map { "\($0), \(bytes)" } ?? bytes
    let bars = [width, width / 2, width / 4].map { "\(work) [\(bar(share, $0))] \(percent), " }
    return bars.map { $0 + counts + left } + bars.map { $0 + bytes + left } + [
      "\(work) \(percent), \(bytes)\(left)", "\(work) \(percent)\(left)", "\(percent)\(left)",
      percent,
    ]
  }

  private static func bar(_ share: Double, _ width: Int) -> String {
    let filled = Int(share * Double(width))
    return String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
  }

  /// Estimates the time left, after the first second.
  private static func left(_ share: Double, _ elapsed: Duration) -> String {
    guard elapsed >= .seconds(1), share > 0 else { return "" }
    let seconds = Int((elapsed / .seconds(1) * (1 - share) / share).rounded(.up))
    if seconds < 100 { return ", about \(seconds) s left" }
    return ", about \((seconds + 59) / 60) min left"
  }
}
