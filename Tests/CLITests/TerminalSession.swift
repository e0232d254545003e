import AlbumTestSupport
import Foundation
import Glibc

/// A program with a terminal at its standard input, and a person who types when asked.
final class TerminalSession {
  private let master: CInt
  private let slave: CInt
  private let process = Process()
  private let scratch: ScratchDirectory
  private var seenErrors = 0

  init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws {
    // grantpt(3) and related functions are not in Swift's Glibc module. These calls do the same.
    master = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var unlocked: CInt = 0
    var number: CInt = 0
    let lockRequest: UInt = 0x4004_5431  // TIOCSPTLCK
    let numberRequest: UInt = 0x8004_5430  // TIOCGPTN
    unsafe precondition(master >= 0 && ioctl(master, lockRequest, &unlocked) == 0)
    unsafe precondition(ioctl(master, numberRequest, &number) == 0)
    slave = unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
    scratch = try ScratchDirectory()
    try scratch.write("out", "")
    try scratch.write("err", "")
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(WeakPasswords.environment) { $1 }.merging(environment) { $1 }
    process.standardInput = FileHandle(fileDescriptor: slave, closeOnDealloc: false)
    process.standardOutput = try FileHandle(forWritingTo: scratch.url.appendingPathComponent("out"))
    process.standardError = try FileHandle(forWritingTo: scratch.url.appendingPathComponent("err"))
    // Tests that run in the background ignore Ctrl-C, and their children would too.
    _ = signal(SIGINT, SIG_DFL)
    try process.run()
  }

  deinit {
    if process.isRunning { process.terminate() }
    close(master)
    close(slave)
  }

  var errors: String { read("err") }
  var output: String { read("out") }

  /// The typed characters that the terminal has shown.
  var echo: String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(master, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
  }

  /// True if the terminal shows typed characters.
  var echoes: Bool {
    var state = termios()
    unsafe tcgetattr(slave, &state)
    return state.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Waits until the program prints this prompt and then nothing more, and types a line. `shown`: the
  /// terminal shows the line, because it is no secret.
  func answer(_ prompt: String, _ line: String, shown: Bool = false) -> Bool {
    guard waitForPrompt(prompt, shown: shown) else { return false }
    let typed = Array((line + "\n").utf8)
    return unsafe write(master, typed, typed.count) == typed.count
  }

  func waitForPrompt(_ prompt: String, shown: Bool = false) -> Bool {
    waitUntil { [self] in
      let text = Array(errors.utf8)
      let new = String(decoding: text.dropFirst(seenErrors), as: UTF8.self)
      guard new.hasSuffix(prompt), echoes == shown else { return false }
      seenErrors = text.count
      return true
    }
  }

  func interrupt() { kill(process.processIdentifier, SIGINT) }

  /// The exit code; nil when it does not end.
  func wait() -> Int32? {
    _ = eventually { !process.isRunning }
    return process.isRunning ? nil : process.terminationStatus
  }

  private func waitUntil(_ condition: () -> Bool) -> Bool {
    var isSo = false
    _ = eventually {
      let hasEnded = !process.isRunning
      isSo = condition()
      return isSo || hasEnded
    }
    return isSo
  }

  private func read(_ name: String) -> String {
    (try? String(contentsOfFile: scratch.path(name), encoding: .utf8)) ?? ""
  }
}
