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
  /// The directory in the root of a space that shows its past.
  package static let snapshots = FileName(literal: ".snapshots")

  package static func < (a: FileName, b: FileName) -> Bool {
    a.bytes.lexicographicallyPrecedes(b.bytes)
  }

  /// True if the name begins with a dot. Such a directory is no album, and such a file gets no thumbnail.
  package var isHidden: Bool { bytes[0] == UInt8(ascii: ".") }

  /// This name with a text before its ending. Shortens what stands before the text if the name would become
  /// too long.
  package func with(_ mark: String) -> FileName {
    let (stem, ending) = FileName.split(bytes)
    return FileName(cutting: stem, mark: mark, ending)
  }

  /// A name of bytes that may be too many for one: shortens what stands before its ending.
  package init(cutting bytes: [UInt8]) throws(Invalid) {
    let (stem, ending) = FileName.split(bytes)
    try self.init(FileName.joined(stem, [], ending))
  }

  /// A name of three parts, of which the first is shortened where they are too many bytes.
  fileprivate init(cutting stem: ArraySlice<UInt8>, mark: String, _ ending: ArraySlice<UInt8>) {
    self.init(known: FileName.joined(stem, Array(mark.utf8), ending))
  }

  /// The ending begins with the last dot, unless that is the first byte.
  private static func split(_ name: [UInt8]) -> (ArraySlice<UInt8>, ArraySlice<UInt8>) {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot != 0 else { return (name[...], []) }
    return (name[..<dot], name[dot...])
  }

  private static func joined(
    _ start: ArraySlice<UInt8>, _ mark: [UInt8], _ rest: ArraySlice<UInt8>
  ) -> [UInt8] {
    var (stem, end) = (start, rest)
    let room = maximumLength - mark.count
    // An ending that leaves no room is none.
    if end.count >= room { (stem, end) = (stem + end, []) }
    while stem.count + end.count > room {
      // A character of UTF-8 goes as a whole: at most three bytes that continue it, and the first.
      for _ in 0..<4 { guard let last = stem.popLast(), last & 0xC0 == 0x80 else { break } }
    }
    return stem + mark + end
  }

  /// For messages; replaces invalid UTF-8.
  package var display: String { String(decoding: bytes, as: UTF8.self) }
}

/// The names that a file gets where its own is taken.
package enum NumberedName {
  /// `IMG_1.jpg`, `IMG_1 (2).jpg`, `IMG_1 (3).jpg` … Shortens the part before the number if the name would
  /// become too long.
  package static func of(_ name: FileName, _ number: Int) -> FileName {
    number == 1 ? name : name.with(" (\(number))")
  }

  /// Does the same, with the number behind the first `length` bytes of the name.
  package static func of(_ name: FileName, _ number: Int, behind length: Int) -> FileName {
    if number == 1 { return name }
    return FileName(
      cutting: name.bytes[..<length], mark: " (\(number))", name.bytes[length...])
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
}
