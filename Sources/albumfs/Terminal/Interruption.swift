import Glibc
import Synchronization

/// Ctrl-C and SIGTERM end a command at once with their exit code, and restore the terminal. The daemon
/// replaces this with its own handling.
enum Interruption {
  static func install() {
    // Initialises it, because the handler must not.
    TerminalEcho.prepare()
    // Some parents start their children with all signals blocked.
    var none = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigprocmask(SIG_SETMASK, &none, nil)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      // A shell's `nohup` and `&` ignore the signal on purpose.
      let former = signal(number) { _ in
        TerminalEcho.restore()
        _exit(15)
      }
      if isIgnored(former) { _ = signal(number, SIG_IGN) }
    }
  }

  private static let asked = Atomic(false)

  /// True if Ctrl-C or the like arrived since `collect`.
  static var wasAsked: Bool { asked.load(ordering: .relaxed) }

  /// For a command that can stop by itself: the first of these signals only sets `wasAsked`, the second one
  /// ends the command.
  static func collect() {
    asked.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      let former = signal(number) { _ in
        if Interruption.asked.exchange(true, ordering: .relaxed) { _exit(15) }
      }
      if isIgnored(former) { _ = signal(number, SIG_IGN) }
    }
  }

  private static let worker = Atomic<Int32>(0)

  /// `collect` for a process that waits for another one. A signal of the terminal reaches both; one that a
  /// program sent is passed on.
  static func collect(passingTo process: Int32) {
    worker.store(process, ordering: .relaxed)
    asked.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      var action = sigaction()
      var former = sigaction()
      unsafe action.__sigaction_handler.sa_sigaction = { number, information, _ in
        // SI_KERNEL is positive.
        if let code = unsafe information?.pointee.si_code, code <= 0 {
          _ = kill(Interruption.worker.load(ordering: .relaxed), number)
        }
        if Interruption.asked.exchange(true, ordering: .relaxed) { _exit(15) }
      }
      action.sa_flags = SA_SIGINFO
      unsafe _ = sigaction(number, &action, &former)
      if unsafe isIgnored(former.__sigaction_handler.sa_handler) { _ = signal(number, SIG_IGN) }
    }
  }

  /// Restores the kernel's default, for code with other signal handling.
  static func remove() {
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { _ = signal(number, SIG_DFL) }
  }

  private static func isIgnored(_ handler: sighandler_t?) -> Bool {
    unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}

/// The echo of the terminal at standard input, off while the user types a password.
///
/// Ctrl-Z gives the terminal back with echo; when the command continues, it hides what is typed again and
/// repeats the question.
enum TerminalEcho {
  // The main thread writes these, `isOff` last; signal handlers read the others only where it is true. A
  // handler uses only tcgetattr, tcsetattr, write and these plain values, which is safe there.
  // (A global of type `termios` is 3 bytes too short: Swift 6.3 leaves out its padding.)
  private nonisolated(unsafe) static var flags: tcflag_t = 0
  private nonisolated(unsafe) static var isOff = false
  private nonisolated(unsafe) static var question: UnsafeMutablePointer<CChar>?

  static func prepare() {
    unsafe isOff = false
    unsafe question = nil
  }

  /// Hides typed characters, drops those already typed, and asks. Repeats the question after a stop.
  static func switchOff(asking words: String) {
    unsafe free(question)
    unsafe question = strdup(words)
    // The handlers come first: a stop before they are there would leave the echo on after it.
    _ = signal(SIGTSTP) { _ in TerminalEcho.stop() }
    // After SIGSTOP, which no program can handle, the shell may have switched the echo on.
    _ = signal(SIGCONT) { _ in TerminalEcho.ask() }
    hide()
    Terminal.prompt(words)
  }

  static func restore() {
    guard unsafe question != nil else { return }
    _ = signal(SIGTSTP, SIG_DFL)
    _ = signal(SIGCONT, SIG_DFL)
    show()
    unsafe isOff = false
  }

  private static func hide() {
    var state = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &state) == 0 else { return }
    if unsafe !isOff { unsafe flags = state.c_lflag }
    state.c_lflag &= ~tcflag_t(ECHO)
    state.c_lflag |= tcflag_t(ECHONL | ICANON | ISIG)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    unsafe isOff = true
    unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &state)
  }

  private static func show() {
    var state = termios()
    guard unsafe isOff, unsafe tcgetattr(STDIN_FILENO, &state) == 0 else { return }
    unsafe state.c_lflag = flags
    unsafe tcsetattr(STDIN_FILENO, TCSANOW, &state)
  }

  /// Stops this process with the terminal as it was. SIGCONT continues here.
  private static func stop() {
    show()
    _ = signal(SIGTSTP, SIG_DFL)
    var only = sigset_t()
    unsafe sigemptyset(&only)
    unsafe sigaddset(&only, SIGTSTP)
    _ = raise(SIGTSTP)
    // The handler's own signal is blocked until it returns.
    unsafe sigprocmask(SIG_UNBLOCK, &only, nil)
    _ = signal(SIGTSTP) { _ in TerminalEcho.stop() }
  }

  private static func ask() {
    guard unsafe isOff, let words = unsafe question else { return }
    hide()
    unsafe _ = write(STDERR_FILENO, words, strlen(words))
  }
}
