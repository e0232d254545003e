package import AlbumModel
internal import Glibc

/// A path that a system call takes.
package protocol SystemPath: Sendable {
  /// Its bytes and a zero.
  var cString: [CChar] { get }
}

extension String: SystemPath {
  package var cString: [CChar] { Array(utf8CString) }
}

/// A path byte by byte. Names need not be UTF-8, and two names that Unicode holds for one are two.
package struct PlainPath: SystemPath, Hashable {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  package init(_ text: String) { bytes = Array(text.utf8) }

  /// An argument of this process. Swift replaces bytes that are not UTF-8, the kernel has them all.
  package init(argument text: String) {
    self.init(text)
    if !text.unicodeScalars.contains("\u{FFFD}") { return }
    guard let file = try? FileDescriptor(open: "/proc/self/cmdline", O_RDONLY),
      let all = try? file.bytes(PlainPath.argumentBytes, at: 0)
    else { return }
    let found = all.split(separator: 0)
      .first { String(decoding: $0, as: UTF8.self).utf8.elementsEqual(text.utf8) }
    if let found { self.init(bytes: Array(found)) }
  }

  /// More than the kernel passes to a program by default.
  private static let argumentBytes = 4 << 20

  package var cString: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

  /// A path for people and JSON. In a name that is not UTF-8, `\xE9` stands for such a byte.
  package var text: String {
    bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map(PlainPath.text).joined(separator: "/")
  }

  private static func text(_ part: ArraySlice<UInt8>) -> String {
    if let text = String(validating: part, as: UTF8.self) { return text }
    return part.map { byte in
      byte < 0x80 ? String(UnicodeScalar(byte)) : "\\x" + String(byte, radix: 16, uppercase: true)
    }.joined()
  }

  /// The last name; nil for the root.
  package var name: FileName? {
    bytes.split(separator: UInt8(ascii: "/")).last.flatMap { try? FileName(Array($0)) }
  }

  /// The path without its last name.
  package var parent: PlainPath {
    let end = bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0
    return PlainPath(bytes: end == 0 ? [UInt8(ascii: "/")] : Array(bytes[..<end]))
  }

  package func appending(_ name: FileName) -> PlainPath {
    PlainPath(
      bytes: bytes + (bytes.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + name.bytes)
  }

  /// realpath(3): absolute, without links.
  package func real() throws(Errno) -> PlainPath {
    guard let real = unsafe realpath(cString, nil) else { throw .last }
    defer { unsafe free(real) }
    return PlainPath(
      bytes: unsafe Array(UnsafeRawBufferPointer(start: real, count: strlen(real))))
  }

  /// readlink(2): where a symbolic link leads.
  package func target() throws(Errno) -> PlainPath {
    let path = cString
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = try retrying {
      unsafe buffer.withUnsafeMutableBytes {
        unsafe readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
      }
    }
    return PlainPath(bytes: Array(buffer[..<count]))
  }

  /// The names in a directory, sorted by their bytes.
  package func names() throws(Errno) -> [FileName] {
    let names = try FileDescriptor(open: self, O_RDONLY | O_DIRECTORY).readNames().names
    return names.compactMap { try? FileName($0) }.sorted()
  }
}

extension FileName {
  /// The name for people and JSON, as `PlainPath.text` shows it.
  package var text: String { PlainPath(bytes: bytes).text }
}
