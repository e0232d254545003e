import Glibc
import Synchronization

/// Ctrl-C and SIGTERM end a command at once with the exit code for it, the terminal as it was.
/// The daemon replaces this by its own handling.
enum Interruption {
  static func install() {
    // Touched here, so that the handler finds it initialised.
    TerminalEcho.prepare()
    // Some parents start their children with everything blocked.
    var none = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigprocmask(SIG_SETMASK, &none, nil)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      // A shell's `nohup` and `&` have the signal ignored on purpose.
      let former = signal(number) { _ in
        TerminalEcho.restore()
        _exit(15)
      }
      if isIgnored(former) { _ = signal(number, SIG_IGN) }
    }
  }

  private static let asked = Atomic(false)

  /// Whether Ctrl-C or the like came since `collect`.
  static var wasAsked: Bool { asked.load(ordering: .relaxed) }

  /// From now on the first of these signals only says so, for a command that can stop by itself; the
  /// second one ends it.
  static func collect() {
    asked.store(false, ordering: .relaxed)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      let former = signal(number) { _ in
        if Interruption.asked.exchange(true, ordering: .relaxed) { _exit(15) }
      }
      if isIgnored(former) { _ = signal(number, SIG_IGN) }
    }
  }

  /// Back to what the kernel does by default, for who handles signals in another way.
  static func remove() {
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { _ = signal(number, SIG_DFL) }
  }

  private static func isIgnored(_ handler: sighandler_t?) -> Bool {
    unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}

/// Echo of the terminal at standard input, switched off while a password is typed.
enum TerminalEcho {
  // Written by the main thread before a signal can want it, and read by a signal handler: only
  // tcgetattr, tcsetattr and these plain values are used there, which is safe in one. (A global of the
  // type `termios` is 3 bytes too short: Swift 6.3 leaves out its padding.)
  private nonisolated(unsafe) static var flags: tcflag_t = 0
  private nonisolated(unsafe) static var isOff = false

  static func prepare() { unsafe isOff = false }

  /// Typed characters stay invisible, those already typed are dropped.
  static func switchOff() {
    var state = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &state) == 0 else { return }
    unsafe flags = state.c_lflag
    state.c_lflag &= ~tcflag_t(ECHO)
    state.c_lflag |= tcflag_t(ECHONL | ICANON | ISIG)
    unsafe isOff = true
    unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &state)
  }

  static func restore() {
    guard unsafe isOff else { return }
    var state = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &state) == 0 else { return }
    unsafe state.c_lflag = flags
    unsafe tcsetattr(STDIN_FILENO, TCSANOW, &state)
    unsafe isOff = false
  }
}
