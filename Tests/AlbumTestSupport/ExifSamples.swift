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
    jpeg(segment: Array("Exif\0\0".utf8) + tiff(date))
  }

  package static func jpeg(xmp: [UInt8]) -> [UInt8] {
    jpeg(segment: Array("http://ns.adobe.com/xap/1.0/\0".utf8) + xmp)
  }

  private static func jpeg(segment: [UInt8]) -> [UInt8] {
    let length = segment.count + 2
    return [
      0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF),
    ]
      + segment + [0xFF, 0xDA, 0, 2, 0xFF, 0xD9, 0, 0, 0, 0]
  }

  /// A JPEG with the maker's note of an iPhone, which ties it to the film of its Live Photo.
  package static func livePhoto(identifier: String) -> [UInt8] {
    func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: Int) -> [UInt8] {
      [tag >> 8, tag, type >> 8, type].map { UInt8($0 & 0xFF) } + big(count) + big(value)
    }
    func directory(_ entries: [[UInt8]]) -> [UInt8] {
      [0, UInt8(entries.count)] + entries.joined() + big(0)
    }
    let text = Array(identifier.utf8) + [0]
    let head = Array("Apple iOS\0".utf8) + [0, 1] + Array("MM".utf8)
    let note = head + directory([entry(0x0001, 9, 1, 14), entry(0x0011, 2, text.count, 44)]) + text
    let date = Array("2024:07:03 12:34:56".utf8) + [0]
    let exif = directory([entry(0x9003, 2, 20, 56), entry(0x927C, 7, note.count, 76)])
    let tiff = Array("MM".utf8) + [0, 42] + big(8) + directory([entry(0x8769, 4, 1, 26)])
    return jpeg(segment: Array("Exif\0\0".utf8) + tiff + exif + date + note)
  }

  /// The film of a Live Photo.
  package static func liveFilm(identifier: String, created: UInt64) -> [UInt8] {
    film(created: created, stated: identifier, name: "com.apple.quicktime.content.identifier")
  }

  /// A packet of XMP with one property.
  package static func xmp(
    _ property: String = "exif:DateTimeOriginal=\"2024-07-03T12:34:56+02:00\""
  ) -> [UInt8] {
    Array("<x:xmpmeta><rdf:RDF><rdf:Description \(property)/></rdf:RDF></x:xmpmeta>".utf8)
  }

  private static func big(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(number >> $0 & 0xFF) }
  }

  private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    big(content.count + 8) + Array(type.utf8) + content
  }

  package static func png(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    png(chunk: "eXIf", tiff(date))
  }

  package static func png(xmp: [UInt8]) -> [UInt8] {
    png(chunk: "iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + xmp)
  }

  private static func png(chunk type: String, _ content: [UInt8]) -> [UInt8] {
    let checksum: [UInt8] = [0, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      + big(1) + Array("IHDR".utf8) + [0] + checksum
      + big(content.count) + Array(type.utf8) + content + checksum
      + big(0) + Array("IEND".utf8) + checksum
  }

  package static func webp(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    let exif = Array("Exif\0\0".utf8) + tiff(date)
    let chunk = Array("EXIF".utf8) + big(exif.count).reversed() + exif
    return Array("RIFF".utf8) + big(chunk.count + 14).reversed() + Array("WEBP".utf8)
      + Array("VP8 ".utf8) + [1, 0, 0, 0, 7, 0] + chunk
  }

  package static func jpegXL(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    box("JXL ", [0x0D, 0x0A, 0x87, 0x0A]) + box("Exif", [0, 0, 0, 0] + tiff(date))
  }

  package static func jpeg2000(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    box("jP  ", [0x0D, 0x0A, 0x87, 0x0A]) + box("uuid", Array("JpgTiffExif->JP2".utf8) + tiff(date))
  }

  /// Canon's raw picture, whose EXIF entries are the first directory of a block.
  package static func cr3(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    let canon: [UInt8] = [
      0x85, 0xC0, 0xB6, 0x87, 0x82, 0x0F, 0x11, 0xE0, 0x81, 0x11, 0xF4, 0xCE, 0x46, 0x2B, 0x6A,
      0x48,
    ]
    var exif = tiff(date)
    exif[4] = 26
    return box("ftyp", Array("crx \0\0\0\0".utf8))
      + box(
        "moov", box("uuid", canon + box("CMT1", tiff("    :  :     :  :  ")) + box("CMT2", exif)))
  }

  /// Fujifilm's raw picture, with its JPEG.
  package static func fujifilm(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    let head = Array("FUJIFILMCCD-RAW ".utf8) + [UInt8](repeating: 0, count: 68)
    return head + big(92) + big(0) + jpeg(date)
  }

  /// The head of a PSD, and its resources: a thumbnail's, then EXIF data or XMP.
  package static func photoshop(_ date: String = "2024:07:03 12:34:56") -> [UInt8] {
    photoshop(resource: 1058, tiff(date))
  }

  package static func photoshop(xmp: [UInt8]) -> [UInt8] { photoshop(resource: 1060, xmp) }

  private static func photoshop(resource number: Int, _ content: [UInt8]) -> [UInt8] {
    func resource(_ number: Int, name: [UInt8], _ content: [UInt8]) -> [UInt8] {
      let head = Array("8BIM".utf8) + [UInt8(number >> 8), UInt8(number & 0xFF)]
      let title = [UInt8(name.count)] + name
      let padding = [UInt8](repeating: 0, count: title.count % 2)
      let end = [UInt8](repeating: 0, count: content.count % 2)
      return head + title + padding + big(content.count) + content + end
    }
    let resources =
      resource(1036, name: [], [1, 2, 3]) + resource(1005, name: [65, 66], [])
      + resource(number, name: [], content)
    let head = Array("8BPS".utf8) + [0, 1] + [UInt8](repeating: 0, count: 20)
    return head + big(6) + [1, 2, 3, 4, 5, 6] + big(resources.count) + resources + big(0)
  }

  /// A GIF up to its first frame, with a comment before its XMP.
  package static func gif(xmp: [UInt8]) -> [UInt8] {
    let screen = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
    let comment: [UInt8] = [0x21, 0xFE, 3, 65, 66, 67, 1, 68, 0]
    let leadOut = [1] + (0...255).reversed().map { UInt8($0) } + [0]
    return screen + comment + [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8) + xmp + leadOut
      + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B]
  }

  /// The boxes of a film without a stream. `created` counts from 1904; `stated` is Apple's date.
  package static func film(
    brand: String? = "isom", created: UInt64 = 0, isLong: Bool = false, stated: String? = nil,
    name key: String = "com.apple.quicktime.creationdate", userPlace: String? = nil
  ) -> [UInt8] {
    let bytes = [24, 16, 8, 0].map { UInt8(created >> $0 & 0xFF) }
    let high = [56, 48, 40, 32].map { UInt8(created >> $0 & 0xFF) }
    let head = box("mvhd", isLong ? [1, 0, 0, 0] + high + bytes : [0, 0, 0, 0] + bytes + big(0))
    var items: [UInt8] = []
    if let stated {
      func name(_ name: String) -> [UInt8] { box("mdta", Array(name.utf8)) }
      let keys = box(
        "keys",
        big(0) + big(2) + name("com.apple.quicktime.make") + name(key))
      func item(_ number: UInt8, _ text: String) -> [UInt8] {
        let data = box("data", big(1) + big(0) + Array(text.utf8))
        return big(data.count + 8) + [0, 0, 0, number] + data
      }
      let list = box("ilst", item(1, "Apple") + item(2, stated))
      // QuickTime's own box has no version.
      let version = brand == nil ? [] : big(0)
      items = box("meta", version + box("hdlr", big(0) + big(0)) + keys + list)
    }
    if let userPlace {
      let text = [0, UInt8(userPlace.utf8.count), 0x15, 0xC7] + Array(userPlace.utf8)
      items += box("udta", big(text.count + 8) + [0xA9] + Array("xyz".utf8) + text)
    }
    let start = brand.map { box("ftyp", Array($0.utf8) + big(0)) } ?? box("wide", [])
    return start + box("mdat", [1, 2, 3]) + box("moov", head + items)
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

  /// A HEIC whose table of places has 65,535 items of 65,535 stretches each, which take no bytes, and not the
  /// item with EXIF data.
  package static func heicOfEmptyStretches() -> [UInt8] {
    let item = box("infe", [2, 0, 0, 0, 0, 7, 0, 0] + Array("Exif".utf8) + [0])
    let places = [UInt8]([0, 8, 0, 0, 0xFF, 0xFF])
    let table = (0..<0xFFFF).flatMap { _ in places }
    return box("ftyp", Array("heic".utf8) + [0, 0, 0, 0] + Array("mif1heic".utf8))
      + box(
        "meta",
        [0, 0, 0, 0] + box("iinf", [0, 0, 0, 0, 0, 1] + item)
          + box("iloc", [0, 0, 0, 0, 0, 0, 0xFF, 0xFF] + table))
  }
}
