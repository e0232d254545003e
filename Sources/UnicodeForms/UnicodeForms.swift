internal import CUtf8proc

/// Spellings of texts that Unicode defines. The only code that calls utf8proc.
package enum UnicodeForms {
  /// The form in which a search compares texts: small letters without marks (`Müller` and `muller` are one).
  /// nil if the text is not UTF-8.
  package static func searchForm(_ text: [UInt8]) -> [Unicode.Scalar]? {
    // The longest form of a code point is 18 times as long.
    var points = [Int32](repeating: 0, count: text.count * 2 + 32)
    var length = unsafe albumfs_search_form(text, text.count, &points, points.count)
    if length < 0, text.count > 0 {
      points = [Int32](repeating: 0, count: text.count * 18 + 32)
      length = unsafe albumfs_search_form(text, text.count, &points, points.count)
    }
    if length < 0 { return nil }
    return points[..<length].compactMap { Unicode.Scalar(UInt32(bitPattern: $0)) }
  }

  /// The number of code points of a text in normal form D, an upper bound for those in normal form C;
  /// negative if the text is not UTF-8.
  package static func decomposedLength(_ text: UnsafeRawBufferPointer) -> Int {
    unsafe text.isEmpty ? 0 : albumfs_nfd_length(text.baseAddress!, text.count)
  }

  /// Writes the text in normal form C at the start of `room`, which has place for `capacity` code points, and
  /// leaves no copy elsewhere. Returns its length in bytes; negative if it is not UTF-8 or does not fit.
  package static func compose(
    _ text: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, capacity: Int
  ) -> Int {
    unsafe text.isEmpty
      ? 0 : albumfs_nfc(text.baseAddress!, text.count, room.baseAddress!, capacity)
  }
}
