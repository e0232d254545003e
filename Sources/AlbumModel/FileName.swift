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

/// The names that a file gets where its own is taken.
package enum NumberedName {
  /// `IMG_1.jpg`, `IMG_1 (2).jpg`, `IMG_1 (3).jpg` … Shortens the part before the number if the name would
  /// become too long.
  package static func of(_ name: FileName, _ number: Int) -> FileName {
    FileName(known: bytes(name.bytes, number))
  }

  /// Does the same, with the number behind the first `length` bytes of the name.
  package static func of(_ name: FileName, _ number: Int, behind length: Int) -> FileName {
    if number == 1 { return name }
    return FileName(
      known: joined(name.bytes[..<length], name.bytes[length...], Array(" (\(number))".utf8)))
  }

  /// True if a file named `name` has or would get the name `candidate` where others are taken.
  package static func isForm(_ candidate: FileName, of name: FileName) -> Bool {
    if candidate == name { return true }
    guard let open = candidate.bytes.lastIndex(of: UInt8(ascii: "(")) else { return false }
    let digits = candidate.bytes[(open + 1)...].prefix { 48...57 ~= $0 }
    guard let number = Int(String(decoding: digits, as: UTF8.self)), number > 1 else {
      return false
    }
    return of(name, number) == candidate
  }

  private static func bytes(_ name: [UInt8], _ number: Int) -> [UInt8] {
    if number == 1 { return name }
    var (stem, end) = (name[...], name[name.endIndex...])
    if let dot = name.lastIndex(of: UInt8(ascii: ".")), dot != 0 {
      (stem, end) = (name[..<dot], name[dot...])
    }
    return joined(stem, end, Array(" (\(number))".utf8))
  }

  private static func joined(
    _ start: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>, _ mark: [UInt8]
  ) -> [UInt8] {
    var (stem, end) = (start, rest)
    let room = FileName.maximumLength - mark.count
    // An ending that leaves no room is none.
    if end.count >= room { (stem, end) = (stem + end, end[end.endIndex...]) }
    while stem.count + end.count > room {
      // A character of UTF-8 goes as a whole.
      while let last = stem.popLast(), last & 0xC0 == 0x80 {}
    }
    return stem + mark + end
  }
}
