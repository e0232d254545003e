package import AlbumModel
package import Posix

/// The life of one worker process, as a pure state machine: its thread reports events and receives the next
/// step. It touches no process and no clock.
///
///     absent ──start──► starting ──started──► idle ──serve──► busy
///        ▲                 │ failed            │ 30 s           │ answered: idle
///        │              backOff ◄──            ▼                ▼ died, late, abandoned, starved, 64th
///        └─────────────────┴──────────────── absent ◄───────────┘
package struct WorkerState: Equatable, Sendable {
  package enum Phase: Equatable, Sendable {
    case absent
    case starting
    case idle(since: MonotonicTime)
    case busy
    case backOff(until: MonotonicTime)
  }

  /// The thread's next step.
  package enum Step: Equatable, Sendable {
    case start
    case serve
    /// Ends the idle process.
    case end
    /// Waits for an event, until the given time if there is one.
    case wait(until: MonotonicTime?)
  }

  /// The result of serving a picture.
  package enum Outcome: Equatable, Sendable {
    case answered
    case died
    case timedOut
    /// The photo changed or was removed meanwhile.
    case abandoned
    /// Another process gets the picture, with a greater share of the processor.
    case starved
  }

  /// The consequence for the photo.
  package enum Verdict: Equatable, Sendable {
    case done
    /// Serve it again with a fresh process: this one may have died of an earlier picture.
    case retry
    case fail(ThumbnailFailure)
  }

  /// A worker without work ends after this time: its memory is worth more than a new start.
  static let idleTime = Duration.seconds(30)
  /// The number of pictures for one process. Any effect of a picture on the process ends with the process.
  package static let picturesPerProcess = 64
  /// The wait after the first failed start. It doubles with each failure, up to the longest.
  static let firstBackOff = Duration.seconds(1)
  static let longestBackOff = Duration.seconds(60)

  package private(set) var phase = Phase.absent
  private var failedStarts = 0
  /// The number of pictures that this process has had, including the current one.
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

  /// The idle process is gone, or must end because it sent something without a request. If it had no picture
  /// yet, this counts as a failed start.
  package mutating func lost(now: MonotonicTime) {
    guard case .idle = phase else { preconditionFailure("lost a process that is not idle") }
    phase = .absent
    if served == 0 { backOff(now) }
  }

  /// The idle process must end, because the next picture needs one with another share of the processor.
  package mutating func dismissed() {
    guard case .idle = phase else { preconditionFailure("dismissed a process that is not idle") }
    phase = .absent
  }

  /// Ends the picture. If the phase is `.absent` afterwards, the caller ends the process.
  package mutating func ended(_ outcome: Outcome, now: MonotonicTime) -> Verdict {
    precondition(phase == .busy)
    let isKept = outcome == .answered && served < WorkerState.picturesPerProcess
    phase = isKept ? .idle(since: now) : .absent
    switch outcome {
    case .answered, .abandoned: return .done
    case .timedOut: return .fail(.timedOut)
    case .starved: return .retry
    case .died: return served > 1 ? .retry : .fail(.workerDied)
    }
  }
}
