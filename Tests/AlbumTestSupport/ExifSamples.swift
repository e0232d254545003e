/// The smallest pictures with a date of capture. They have no pixels.
package enum ExifSamples {
  /// A TIFF whose directory of EXIF entries has DateTimeOriginal.
  package static func tiff(
    _ date: String = "2024:07:03 12:34:56", isBigEndian: Bool = false
  ) -> [UInt8] {
    func number(_ value: Int, _ size: Int) -> [UInt8] {
      let bytes = (0..<size).map { UInt8(value >> (8 * $0) & 0xFF) }
      return isBigEndian ? bytes.reversed() : bytes
    }
    func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: Int) -> [UInt8] {
      number(tag, 2) + number(type, 2) + number(count, 4) + number(value, 4)
    }
    func directory(_ entries: [UInt8]) -> [UInt8] {
      number(entries.count / 12, 2) + entries + number(0, 4)
    }
    return Array((isBigEndian ? "MM" : "II").utf8) + number(42, 2) + number(8, 4)
      + directory(entry(0x8769, 4, 1, 26)) + directory(entry(0x9003, 2, 20, 44)) + Array(date.utf8)
      + [0]
  }

  package static func jpeg(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    let exif = Array("Exif\0\0".utf8) + tiff(date)
    return [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif
      + [0xFF, 0xDA, 0, 2, 0xFF, 0xD9, 0, 0, 0, 0]
  }

  /// The boxes of a HEIC up to its item `Exif`.
  package static func heic(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
      [0, 0, 0, UInt8(content.count + 8)] + Array(type.utf8) + content
    }
    let exif = [0, 0, 0, 6] + Array("Exif\0\0".utf8) + tiff(date)
    let head = box("ftyp", Array("heic".utf8) + [0, 0, 0, 0] + Array("mif1heic".utf8))
    let item = box("infe", [2, 0, 0, 0, 0, 7, 0, 0] + Array("Exif".utf8) + [0])
    let info = box("iinf", [0, 0, 0, 0, 0, 1] + item)
    func meta(_ offset: Int) -> [UInt8] {
      let place: [UInt8] = [0, 7, 0, 0, 0, 1, 0, 0, 0, UInt8(offset), 0, 0, 0, UInt8(exif.count)]
      return box("meta", [0, 0, 0, 0] + info + box("iloc", [0, 0, 0, 0, 0x44, 0, 0, 1] + place))
    }
    return head + meta(head.count + meta(0).count + 8) + box("mdat", exif)
  }
}
