internal import Glibc

/// Patterns of names, as in a shell.
package enum NamePattern {
  /// fnmatch(3), in which only a slash matches a slash.
  package static func matches(_ text: [UInt8], _ pattern: String) -> Bool {
    let text = text.map { CChar(bitPattern: $0) } + [0]
    return unsafe fnmatch(pattern, text, FNM_PATHNAME) == 0
  }
}
