import AlbumSecrets
import ArgumentParser
import FoundationEssentials
import Glibc

/// The rules for output, once: results go to standard output and to nowhere else; everything said
/// to a person goes to standard error. `-q` leaves errors only; `-v` adds what goes on. No secret
/// is ever printed but the recovery key, which is a result.
enum Terminal {
  static func result(_ text: String) {
    write(text + (text.hasSuffix("\n") ? "" : "\n"), to: STDOUT_FILENO)
  }

  /// A secret that is the result, straight from guarded memory.
  static func result(secret: borrowing SecretBytes) {
    unsafe secret.withUnsafeBytes { bytes in
      unsafe _ = Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
    }
    result("")
  }

  static func message(_ text: String) {
    write(text + (text.hasSuffix("\n") ? "" : "\n"), to: STDERR_FILENO)
  }

  /// Names of files may hold anything: what would steer the terminal is shown as `\u{1B}`.
  static func printable(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars {
      let isControl = scalar.properties.generalCategory == .control
      shown += isControl ? scalar.escaped(asASCII: true) : String(scalar)
    }
    return shown
  }

  static func complain(_ text: String) { message("albumfs: " + text) }

  /// Asks; the answer stands behind it on the same line.
  static func prompt(_ text: String) { write(text, to: STDERR_FILENO) }

  /// A line that the next one replaces.
  static func transient(_ text: String) {
    if isatty(STDERR_FILENO) == 1 { write("\r\u{1B}[K" + text, to: STDERR_FILENO) }
  }

  static func result(json value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return }
    result(String(decoding: data, as: UTF8.self))
  }

  /// A reader who is gone (`albumfs list | head`) is no error.
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

/// How much is said, by every command.
struct OutputOptions: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Say nothing but errors.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Say more of what goes on; a mount says it in the system log.")
  var verbose = false

  func say(_ text: String) {
    if !quiet { Terminal.message(text) }
  }

  func detail(_ text: String) {
    if verbose { Terminal.message(text) }
  }
}
