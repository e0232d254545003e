package import AlbumModel

/// What EXIF data say of the camera, and how and where it took a picture, and where a film says that it was
/// taken. In the containers that `CaptureDate` knows.
///
/// Never trusts the file: reads at most `readLimit` pieces of bounded size, and its texts are short and have
/// no control characters.
package struct CameraFacts: Equatable, Sendable {
  /// Maker and model, as people call it: `Apple iPhone 15 Pro`.
  package private(set) var camera: String?
  package private(set) var lens: String?
  /// In seconds.
  package private(set) var exposure: Double?
  /// The f-number.
  package private(set) var aperture: Double?
  package private(set) var iso: Int?
  /// In millimetres.
  package private(set) var focalLength: Double?
  /// What it would be with film of 35 mm, in millimetres.
  package private(set) var focalLengthOn35mm: Int?
  package private(set) var place: GeographicPlace?

  private static let readLimit = 500
  private static let textLimit = 120

  package init() {}

  package static func find(size: Int64, _ read: CaptureDate.Read) -> CameraFacts {
    var readsLeft = readLimit
    return search(
      size: size,
      { (count: Int, offset: Int64) -> [UInt8]? in
        readsLeft -= 1
        return readsLeft < 0 ? nil : read(count, offset)
      })
  }

  /// Does the same for a picture in memory.
  package static func find(in picture: Span<UInt8>) -> CameraFacts {
    find(size: Int64(picture.count)) { picture.part($0, at: $1) }
  }

  private static func search(size: Int64, _ read: CaptureDate.Read) -> CameraFacts {
    var facts = CameraFacts()
    guard size >= 0, let head = read(12, 0), head.count == 12 else { return facts }
    let blocks = MetadataBlocks.find(head, size: size, read)
    facts.place = blocks.movie.flatMap { MoviePlace.place(in: $0, read) }
    for block in blocks.exif {
      ExifBlock.values(in: block, read) { facts.take($0) }
      facts.place = facts.place ?? ExifBlock.place(in: block, read)
    }
    return facts
  }

  private mutating func take(_ values: ExifBlock.Values) {
    let maker = values.text(0x010F).flatMap(CameraFacts.plain)
    let model = values.text(0x0110).flatMap(CameraFacts.plain)
    camera = camera ?? CameraFacts.camera(maker, model)
    lens = lens ?? values.text(0xA434).flatMap(CameraFacts.plain)
    exposure = exposure ?? values.ratio(0x829A, in: 1e-6...1e5)
    aperture = aperture ?? values.ratio(0x829D, in: 0.3...200)
    iso = iso ?? values.number(0x8827, in: 1...10_000_000)
    focalLength = focalLength ?? values.ratio(0x920A, in: 0.1...10_000)
    focalLengthOn35mm = focalLengthOn35mm ?? values.number(0xA405, in: 1...10_000)
  }

  /// Many models begin with the maker's name, or a part of it.
  private static func camera(_ maker: String?, _ model: String?) -> String? {
    guard let model else { return maker }
    guard let maker, let first = maker.split(separator: " ").first else { return model }
    return model.lowercased().hasPrefix(first.lowercased()) ? model : "\(maker) \(model)"
  }

  /// The text up to the first zero, in one line; nil if nothing is left.
  private static func plain(_ bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes.prefix { $0 != 0 }.prefix(textLimit), as: UTF8.self)
    let words = text.unicodeScalars.split { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator: true
      default: false
      }
    }
    return words.isEmpty ? nil : words.map { String($0) }.joined(separator: " ")
  }
}

extension ExifBlock {
  /// The entries of the main directory and of EXIF's own.
  struct Values {
    let entries: [[UInt8]]
    let numbers: Numbers
    let content: (_ count: Int, _ offset: Int64) -> [UInt8]?

    private func entry(_ tag: Int) -> [UInt8]? {
      entries.first { numbers.value($0[0..<2]) == tag }
    }

    /// The characters of a text, at most 200.
    func text(_ tag: Int) -> [UInt8]? {
      guard let entry = entry(tag), numbers.value(entry[2..<4]) == 2 else { return nil }
      let count = min(numbers.value(entry[4..<8]), 200)
      if count <= 4 { return Array(entry[8..<8 + count]) }
      return content(count, Int64(numbers.value(entry[8..<12])))
    }

    /// The bytes of an entry of any kind whose elements are bytes.
    func bytes(_ tag: Int, atMost limit: Int) -> [UInt8]? {
      guard let entry = entry(tag), [1, 2, 7].contains(numbers.value(entry[2..<4])) else {
        return nil
      }
      let count = numbers.value(entry[4..<8])
      guard 5...limit ~= count else { return nil }
      return content(count, Int64(numbers.value(entry[8..<12])))
    }

    /// The first number of 16 or 32 bits.
    func number(_ tag: Int, in range: ClosedRange<Int>) -> Int? {
      guard let entry = entry(tag), numbers.value(entry[4..<8]) > 0 else { return nil }
      let value: Int
      switch numbers.value(entry[2..<4]) {
      case 3: value = numbers.value(entry[8..<10])
      case 4: value = numbers.value(entry[8..<12])
      default: return nil
      }
      return range.contains(value) ? value : nil
    }

    /// The first quotient of two numbers.
    func ratio(_ tag: Int, in range: ClosedRange<Double>) -> Double? {
      guard let entry = entry(tag), numbers.value(entry[2..<4]) == 5,
        let bytes = content(8, Int64(numbers.value(entry[8..<12])))
      else { return nil }
      let (above, below) = (numbers.value(bytes[0..<4]), numbers.value(bytes[4..<8]))
      let value = Double(above) / Double(max(below, 1))
      return below > 0 && range.contains(value) ? value : nil
    }
  }
}
