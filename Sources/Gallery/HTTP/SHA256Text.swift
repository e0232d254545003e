/// SHA-256 as a client writes it.
enum SHA256Text {
  /// Reads 64 hexadecimal digits; throws `invalid` for anything else.
  static func bytes(_ text: String) throws(GalleryError) -> [UInt8] {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == 64, text.utf8.count == 64 else { throw GalleryError(.invalid) }
    return stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
