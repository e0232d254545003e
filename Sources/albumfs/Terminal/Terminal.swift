import AlbumSecrets
import ArgumentParser
import ControlProtocol
import FoundationEssentials
import Glibc
import Posix

import struct Synchronization.Atomic

/// The rules for output. Results go to standard output and nowhere else; all other messages go to standard
/// error. `-q` leaves only errors; `-v` adds details. The only secret that it ever prints is the recovery
/// key, which is a result.
///
/// A name of a file, a mount or a store may hold anything, so nothing is printed raw: whatever could command
/// the terminal is escaped here, for all commands.
enum Terminal {
  /// The first error of standard output. The command does its work all the same, and says so at its end: it
  /// may be in the middle of moving files.
  private static let lost = Atomic<CInt>(0)

  /// Throws if a result could not be written, as to a file on a full disk.
  static func requireResults() throws(Failure) {
    let error = Errno(lost.load(ordering: .relaxed))
    if error.rawValue == 0 { return }
    throw Failure(
      error == .noSpace || error == .quota ? .diskFull : .other,
      "Not all of the output could be written: \(error). What the command does besides is done.")
  }

  static func result(_ text: String) { write(line(text.printableLines), to: STDOUT_FILENO) }

  /// Prints a secret result directly from guarded memory.
  static func result(secret: borrowing SecretBytes) {
    unsafe secret.withUnsafeBytes { unsafe write($0, to: STDOUT_FILENO) }
    result("")
  }

  /// Prints a path as one line, or as its bytes are, and a zero byte. The latter is for programs: a terminal
  /// does not obey what is in a name only where something reads it before.
  static func result(path: PlainPath, endsWithZero: Bool) {
    if !endsWithZero { return result(path.text.printable) }
    write(path.bytes + [0], to: STDOUT_FILENO)
  }

  static func message(_ text: String) { write(line(text.printableLines), to: STDERR_FILENO) }

  static func complain(_ text: String) { message("albumfs: " + text) }

  /// Prints a question; the user types on the same line.
  static func prompt(_ text: String) { write(text.printableLines, to: STDERR_FILENO) }

  private static func line(_ text: String) -> String { text + (text.hasSuffix("\n") ? "" : "\n") }

  /// Makes the help at least 40 columns wide: the library that writes it ends the process for fewer than 27.
  static func widen() {
    var size = winsize()
    let isKnown = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0
    let columns =
      PathCalls.variable("COLUMNS").flatMap { Int($0) } ?? (isKnown ? Int(size.ws_col) : 80)
    if columns < 40 { unsafe _ = setenv("COLUMNS", columns > 0 ? "40" : "80", 1) }
  }

  /// True if standard error is a terminal that can erase a line.
  static var replacesLines: Bool {
    isatty(STDERR_FILENO) == 1 && PathCalls.variable("TERM") != "dumb"
  }

  /// The width of the terminal at standard error; very large where it does not tell.
  static var columns: Int {
    var size = winsize()
    let isKnown = unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return isKnown ? Int(size.ws_col) : .max
  }

  /// Prints a line that the next one replaces.
  static func transient(_ text: String) {
    if replacesLines { write("\r\u{1B}[K\(text.printable)", to: STDERR_FILENO) }
  }

  static func result(json value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return }
    // JSON has escapes of its own.
    write(line(String(decoding: data, as: UTF8.self)), to: STDOUT_FILENO)
  }

  /// A reader that has exited (`albumfs list | head`) is no error.
  private static func write(_ text: String, to descriptor: CInt) {
    write(Array(text.utf8), to: descriptor)
  }

  private static func write(_ bytes: [UInt8], to descriptor: CInt) {
    unsafe bytes.withUnsafeBytes { unsafe write($0, to: descriptor) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) {
    var done = 0
    while done < bytes.count {
      let count = unsafe Glibc.write(
        descriptor, bytes.baseAddress! + done, bytes.count - done)
      if count < 0, errno == EINTR { continue }
      if count <= 0 {
        if descriptor == STDOUT_FILENO, errno != EPIPE, lost.load(ordering: .relaxed) == 0 {
          lost.store(errno, ordering: .relaxed)
        }
        return
      }
      done += count
    }
  }
}

/// `1 photo`, `2 photos`.
func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// `1 try`, `2 tries`.
func counted(_ count: Int, _ noun: String, _ nouns: String) -> String {
  "\(count) \(count == 1 ? noun : nouns)"
}

/// How much every command prints.
struct OutputOptions: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Print nothing but errors.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Print more details; mount writes them to the system log.")
  var verbose = false

  func say(_ text: String) {
    if !quiet { Terminal.message(text) }
  }

  func detail(_ text: String) {
    if verbose { Terminal.message(text) }
  }
}
