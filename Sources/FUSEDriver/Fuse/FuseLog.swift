internal import CFuse3
internal import Glibc
import Posix

/// What libfuse would print to standard error, kept for error messages instead.
enum FuseLog {
  private static let last = Mutex("", rank: .leaf)

  /// From now on, for the whole process; libfuse has one log.
  static func install() {
    last.withLock { $0 = "" }
    unsafe fuse_set_log_func { _, format, arguments in
      guard let format = unsafe format, let arguments = unsafe arguments else { return }
      var text = [CChar](repeating: 0, count: 512)
      let length = unsafe vsnprintf(&text, text.count, format, arguments)
      FuseLog.keep(text.prefix(Int(max(0, length))).map { UInt8(bitPattern: $0) })
    }
  }

  /// libfuse's latest words; empty when it said nothing.
  static var lastMessage: String { last.withLock { $0 } }

  private static func keep(_ bytes: [UInt8]) {
    let text = String(decoding: bytes.prefix { $0 != 0 && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    last.withLock { $0 = text }
  }
}
