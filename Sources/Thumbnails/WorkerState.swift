package import AlbumModel
package import Posix

/// The life of one worker process as its thread sees it. Pure: is told what happened, answers what to
/// do; touches no process and no clock.
///
///     absent ──start──► starting ──started──► idle ──serve──► busy
///        ▲                 │ failed            │ 30 s           │ answered: idle
///        │              backOff ◄──            ▼                ▼ died, timed out, abandoned, 64th
///        └─────────────────┴──────────────── absent ◄───────────┘
package struct WorkerState: Equatable, Sendable {
  package enum Phase: Equatable, Sendable {
    case absent
    case starting
    case idle(since: MonotonicTime)
    case busy
    case backOff(until: MonotonicTime)
  }

  /// What the thread does next.
  package enum Step: Equatable, Sendable {
    case start
    case serve
    /// Ends the idle process.
    case end
    /// Until something comes or, where given, until then.
    case wait(until: MonotonicTime?)
  }

  /// What became of the picture that was served.
  package enum Outcome: Equatable, Sendable {
    case answered
    case died
    case timedOut
    /// The photo changed or went under way.
    case abandoned
  }

  /// What that means for the photo.
  package enum Verdict: Equatable, Sendable {
    case settled
    /// Once more, with a fresh process: this one may have died of an earlier picture.
    case retry
    case fail(ThumbnailFailure)
  }

  /// A worker without work is ended after this: its memory is worth more than its start.
  package static let idleTime = Duration.seconds(30)
  /// So many pictures a process gets. What one of them did to it ends with it.
  package static let picturesPerProcess = 64
  /// The wait after the first failed start; doubles with each, up to the longest.
  package static let firstBackOff = Duration.seconds(1)
  package static let longestBackOff = Duration.seconds(60)

  package private(set) var phase = Phase.absent
  private var failedStarts = 0
  /// Pictures that this process has had, the present one included.
  private var served = 0

  package init() {}

  package mutating func next(hasPicture: Bool, now: MonotonicTime) -> Step {
    switch phase {
    case .absent:
      if !hasPicture { return .wait(until: nil) }
      phase = .starting
      return .start
    case .backOff(let until):
      if !hasPicture { return .wait(until: nil) }
      if now < until { return .wait(until: until) }
      phase = .starting
      return .start
    case .idle(let since):
      if hasPicture {
        phase = .busy
        failedStarts = 0
        served += 1
        return .serve
      }
      let end = since + WorkerState.idleTime
      if now < end { return .wait(until: end) }
      phase = .absent
      return .end
    case .starting, .busy: preconditionFailure("asked for a step in the middle of one")
    }
  }

  package mutating func started(now: MonotonicTime) {
    precondition(phase == .starting)
    phase = .idle(since: now)
    served = 0
  }

  package mutating func startFailed(now: MonotonicTime) {
    precondition(phase == .starting)
    backOff(now)
  }

  private mutating func backOff(_ now: MonotonicTime) {
    let wait = WorkerState.firstBackOff * (1 << min(failedStarts, 10))
    phase = .backOff(until: now + min(wait, WorkerState.longestBackOff))
    failedStarts += 1
  }

  /// The idle process has gone, or is to be ended because it spoke unasked. One that did so before it
  /// had any picture counts as a start that failed.
  package mutating func lost(now: MonotonicTime) {
    guard case .idle = phase else { preconditionFailure("lost a process that is not idle") }
    phase = .absent
    if served == 0 { backOff(now) }
  }

  /// The process is to be ended where the phase is `.absent` then.
  package mutating func ended(_ outcome: Outcome, now: MonotonicTime) -> Verdict {
    precondition(phase == .busy)
    let isKept = outcome == .answered && served < WorkerState.picturesPerProcess
    phase = isKept ? .idle(since: now) : .absent
    switch outcome {
    case .answered, .abandoned: return .settled
    case .timedOut: return .fail(.timedOut)
    case .died: return served > 1 ? .retry : .fail(.workerDied)
    }
  }
}
