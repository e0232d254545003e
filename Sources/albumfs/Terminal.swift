import AlbumSecrets
import ArgumentParser
import FoundationEssentials
import Glibc

/// The rules for output. Results go to standard output and nowhere else; all other messages go to standard
/// error. `-q` leaves only errors; `-v` adds details. The only secret that it ever prints is the recovery
/// key, which is a result.
enum Terminal {
  static func result(_ text: String) {
    write(text + (text.hasSuffix("\n") ? "" : "\n"), to: STDOUT_FILENO)
  }

  /// Prints a secret result directly from guarded memory.
  static func result(secret: borrowing SecretBytes) {
    unsafe secret.withUnsafeBytes { bytes in
      unsafe _ = Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
    }
    result("")
  }

  static func message(_ text: String) {
    write(text + (text.hasSuffix("\n") ? "" : "\n"), to: STDERR_FILENO)
  }

  static func complain(_ text: String) { message("albumfs: " + text) }

  /// Prints a question; the user types on the same line.
  static func prompt(_ text: String) { write(text, to: STDERR_FILENO) }

  /// Prints a line that the next one replaces.
  static func transient(_ text: String) {
    // Without automatic wrapping a narrow terminal cuts the line, and the next one replaces all of it.
    if isatty(STDERR_FILENO) == 1 {
      write("\r\u{1B}[K\u{1B}[?7l\(text)\u{1B}[?7h", to: STDERR_FILENO)
    }
  }

  static func result(json value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return }
    result(String(decoding: data, as: UTF8.self))
  }

  /// A reader that has exited (`albumfs list | head`) is no error.
  private static func write(_ text: String, to descriptor: CInt) {
    var rest = ArraySlice(text.utf8)
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
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
