/// The chunks of a WebP file (RIFF): each has a name of four characters, a length, its bytes, and one byte of
/// padding if the length is odd.
enum WebPContainer {
  /// Returns the same picture without metadata; nil if the bytes are no WebP. libvips 8.14 writes EXIF into a
  /// WebP even when it should strip it.
  static func withoutMetadata(_ file: [UInt8]) -> [UInt8]? {
    guard file.count >= 12, file[0..<4].elementsEqual("RIFF".utf8),
      file[8..<12].elementsEqual("WEBP".utf8)
    else { return nil }
    var kept = Array("WEBP".utf8)
    var offset = 12
    while offset < file.count {
      guard file.count - offset >= 8 else { return nil }
      let length = number(file[(offset + 4)..<(offset + 8)])
      let end = offset + 8 + length + length % 2
      guard end <= file.count else { return nil }
      var chunk = Array(file[offset..<end])
      let name = String(decoding: chunk[0..<4], as: UTF8.self)
      // The flags in the first byte of the extended header announce the other chunks.
      if name == "VP8X", chunk.count > 8 { chunk[8] &= ~(profileFlag | exifFlag | xmpFlag) }
      if !metadata.contains(name) { kept += chunk }
      offset = end
    }
    return Array("RIFF".utf8) + bytes(kept.count) + kept
  }

  private static let metadata: Set = ["ICCP", "EXIF", "XMP "]
  private static let profileFlag: UInt8 = 0x20
  private static let exifFlag: UInt8 = 0x08
  private static let xmpFlag: UInt8 = 0x04

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  private static func bytes(_ number: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
