/// One component of a path: 1 to 255 bytes, any encoding, no `/` and no NUL, neither `.` nor `..`. Ordered by
/// bytes.
package struct FileName: Hashable, Comparable, Sendable {
  package let bytes: [UInt8]

  package enum Invalid: Error, Sendable { case empty, tooLong, reserved }

  /// The greatest length of a name, in bytes.
  package static let maximumLength = 255

  package init(_ bytes: [UInt8]) throws(Invalid) {
    if bytes.isEmpty { throw .empty }
    if bytes.count > FileName.maximumLength { throw .tooLong }
    if bytes == [UInt8(ascii: ".")] || bytes == [UInt8(ascii: "."), UInt8(ascii: ".")] {
      throw .reserved
    }
    if bytes.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") }) { throw .reserved }
    self.bytes = bytes
  }

  package init(_ string: String) throws(Invalid) { try self.init(Array(string.utf8)) }

  /// Bytes that are known to be a name. Does not look at them again.
  package init(known bytes: [UInt8]) {
    assert(1...FileName.maximumLength ~= bytes.count)
    self.bytes = bytes
  }

  /// A name known at compile time, such as `Photo`.
  package init(literal: StaticString) {
    bytes = unsafe Array(
      UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  /// `.` or `..`, which occur only in listings.
  package init(dots count: Int) { bytes = [UInt8](repeating: UInt8(ascii: "."), count: count) }

  package static let photo = FileName(literal: "Photo")
  package static let thumb = FileName(literal: "Thumb")

  package static func < (a: FileName, b: FileName) -> Bool {
    a.bytes.lexicographicallyPrecedes(b.bytes)
  }

  /// True if the name begins with a dot. Such a directory is no album, and such a file gets no thumbnail.
  package var isHidden: Bool { bytes[0] == UInt8(ascii: ".") }

  /// For messages; replaces invalid UTF-8.
  package var display: String { String(decoding: bytes, as: UTF8.self) }
}
