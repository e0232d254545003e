package import AlbumModel

/// Finds where a film was taken in its box `moov`: in Apple's item `com.apple.quicktime.location.ISO6709`, or
/// in the box `©xyz` of its user data, which phones with Android write.
enum MoviePlace {
  private static let itemName = "com.apple.quicktime.location.ISO6709"
  private static let boxType = [0xA9] + Array("xyz".utf8)
  private static let textLimit: Int64 = 100

  static func place(in movie: Range<Int64>, _ read: CaptureDate.Read) -> GeographicPlace? {
    MovieDate.text(of: itemName, in: movie, read).flatMap { GeographicPlace(iso6709: $0) }
      ?? ofUser(movie, read).flatMap { GeographicPlace(iso6709: $0) }
  }

  /// Two bytes with the length of the text and two with its language come first.
  private static func ofUser(_ movie: Range<Int64>, _ read: CaptureDate.Read) -> [UInt8]? {
    let data = BoxedMetadata.boxes(in: movie, read).first { $0.type.elementsEqual("udta".utf8) }
    let box = data.flatMap { data in
      BoxedMetadata.boxes(in: data.content, read).first { $0.type == boxType }
    }
    guard let content = box?.content, 4...textLimit ~= Int64(content.count),
      let bytes = read(content.count, content.lowerBound), bytes.count == content.count
    else { return nil }
    return Array(bytes.dropFirst(4).prefix(Numbers(isBigEndian: true).value(bytes[..<2])))
  }
}

extension GeographicPlace {
  /// Reads `+48.8584+002.2945+035.3/` (ISO 6709, annex H): degrees of latitude and longitude, and metres. nil
  /// for degrees with minutes, which no camera writes, and where both degrees are zero: that is a camera
  /// without a fix.
  package init?(iso6709 text: [UInt8]) {
    let signs = "+-".utf8
    var numbers: [[UInt8]] = []
    for byte in text.prefix(while: { $0 != UInt8(ascii: "/") && $0 != 0 }) {
      if signs.contains(byte) {
        numbers.append([byte])
      } else if 48...57 ~= byte || byte == UInt8(ascii: "."), !numbers.isEmpty {
        numbers[numbers.count - 1].append(byte)
      } else if byte == UInt8(ascii: "C"), numbers.count >= 2 {
        break
      } else {
        return nil
      }
    }
    guard 2...3 ~= numbers.count, numbers.allSatisfy({ $0.count > 1 }) else { return nil }
    let values = numbers.compactMap { Double(String(decoding: $0, as: UTF8.self)) }
    guard values.count == numbers.count, values[0] != 0 || values[1] != 0 else { return nil }
    self.init(
      latitude: values[0], longitude: values[1], altitude: values.count > 2 ? values[2] : nil)
  }
}
