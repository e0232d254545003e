/// The width and height in the first bytes of a thumbnail, or of an original in one of its formats. Reads a
/// bounded number of bytes and believes none of them beyond their range.
enum PictureHeader {
  /// So many bytes suffice for the thumbnails of albumfs.
  static let byteCount = 4096
  /// Originals have EXIF data and a profile before their size.
  static let originalByteCount = 96 << 10

  static func size(_ bytes: [UInt8]) -> (width: Int32, height: Int32)? {
    let found =
      bytes.starts(with: [0xff, 0xd8])
      ? jpeg(bytes) : bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) ? png(bytes) : webp(bytes)
    guard let found, (1...100_000).contains(found.0), (1...100_000).contains(found.1) else {
      return nil
    }
    return (Int32(found.0), Int32(found.1))
  }

  private static func png(_ bytes: [UInt8]) -> (Int, Int)? {
    guard bytes.count >= 24 else { return nil }
    return (big(bytes, 16, 4), big(bytes, 20, 4))
  }

  /// Goes from segment to segment up to the frame header.
  private static func jpeg(_ bytes: [UInt8]) -> (Int, Int)? {
    var place = 2
    while place + 9 < bytes.count, bytes[place] == 0xff {
      let marker = bytes[place + 1]
      if marker == 0xff {
        place += 1
        continue
      }
      let isFrame = (0xc0...0xcf).contains(marker) && ![0xc4, 0xc8, 0xcc].contains(marker)
      if isFrame { return (big(bytes, place + 7, 2), big(bytes, place + 5, 2)) }
      let length = big(bytes, place + 2, 2)
      if length < 2 { return nil }
      place += 2 + length
    }
    return nil
  }

  private static func webp(_ bytes: [UInt8]) -> (Int, Int)? {
    guard bytes.count >= 30, bytes[8..<12].elementsEqual("WEBP".utf8) else { return nil }
    switch String(decoding: bytes[12..<16], as: UTF8.self) {
    case "VP8 ": return (little(bytes, 26, 2) & 0x3fff, little(bytes, 28, 2) & 0x3fff)
    case "VP8L":
      let bits = little(bytes, 21, 4)
      return ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
    case "VP8X": return (little(bytes, 24, 3) + 1, little(bytes, 27, 3) + 1)
    default: return nil
    }
  }

  private static func big(_ bytes: [UInt8], _ place: Int, _ count: Int) -> Int {
    bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
  }
  private static func little(_ bytes: [UInt8], _ place: Int, _ count: Int) -> Int {
    bytes[place..<place + count].reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
