import ControlProtocol
import Glibc
import Posix

/// Turns SIGTERM and SIGINT into a clean stop, and SIGUSR1 into a report. Create it before any other
/// thread: all threads inherit the signal mask, so the signals reach the one thread that waits for them.
final class SignalWatch: Sendable {
  private struct State {
    var stop: (@Sendable () -> Void)?
    var isStopping = false
  }
  private let state = Mutex(State(), rank: .leaf)

  /// Blocks the signals and waits for them on a thread of its own. Until `onStop` is called, a signal ends
  /// the process at once with exit code `early`: nothing is mounted yet, and the next start clears anything
  /// that an unfinished start leaves.
  init(ignoringHangup: Bool, early: Int32) throws(Errno) {
    _ = signal(SIGPIPE, SIG_IGN)
    if ignoringHangup { _ = signal(SIGHUP, SIG_IGN) }
    let signals = ignoringHangup ? [SIGTERM, SIGINT] : [SIGTERM, SIGINT, SIGHUP]
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in signals + [SIGUSR1] { unsafe sigaddset(&set, number) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    try PosixThread(name: "signals") { self.watch(signals, early) }.detach()
  }

  /// Sets what a signal, or `stop`, does from now on. The watch calls it once, on a thread of its own.
  func onStop(_ body: @escaping @Sendable () -> Void) {
    let now = state.withLock { state in
      state.stop = body
      return state.isStopping
    }
    if now { body() }
  }

  /// Has the effect of a signal.
  func stop() {
    let body = state.withLock { state in
      if state.isStopping { return nil as (@Sendable () -> Void)? }
      state.isStopping = true
      return state.stop
    }
    body?()
  }

  /// Sets what SIGUSR1 does. A thread of its own takes that signal: a stop may wait for what a report
  /// explains.
  func onReport(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    try PosixThread(name: "state") {
      var set = sigset_t()
      unsafe sigemptyset(&set)
      unsafe sigaddset(&set, SIGUSR1)
      while true {
        var number: CInt = 0
        if unsafe sigwait(&set, &number) == 0 { body() }
      }
    }.detach()
  }

  private func watch(_ signals: [CInt], _ early: Int32) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in signals { unsafe sigaddset(&set, number) }
    while true {
      var number: CInt = 0
      if unsafe sigwait(&set, &number) != 0 { continue }
      if state.withLock({ $0.stop == nil }) { _exit(early) }
      stop()
    }
  }
}
