import AlbumModel
import AlbumTestSupport
import Foundation
import PictureMetadata
import Testing

/// Strips pictures that lie in memory.
enum Stripping {
  static func plan(_ bytes: [UInt8]) throws(StrippedPicture.Fault) -> StrippedPicture {
    try StrippedPicture.plan(size: Int64(bytes.count)) { count, offset in
      offset < bytes.count ? Array(bytes[Int(offset)...].prefix(count)) : []
    }
  }

  static func stripped(_ bytes: [UInt8]) throws(StrippedPicture.Fault) -> [UInt8] {
    let plan = try plan(bytes)
    let result = plan.pieces.flatMap { piece -> [UInt8] in
      switch piece {
      case .part(let part): Array(bytes[Int(part.lowerBound)..<Int(part.upperBound)])
      case .bytes(let bytes): bytes
      case .zeros(let count): [UInt8](repeating: 0, count: Int(count))
      }
    }
    #expect(Int64(result.count) == plan.size)
    return result
  }
}

/// Bytes that somebody planted where a file states a length, or where no decoder looks, are gone from a
/// picture without metadata: only packed pixels are copied.
@Suite struct PlantedBytesTests {
  private static let secret = Array("SECRET".utf8)
  private static let pixels = TestPictures.pixels(width: 32, height: 20)

  private func holds(_ bytes: [UInt8]) -> Bool {
    Data(bytes).range(of: Data(Self.secret.prefix(4))) != nil
  }

  /// The planted bytes go, and the rest of the picture is what it would have been without them.
  private func check(_ planted: [UInt8], _ plain: [UInt8], _ name: String) throws {
    #expect(holds(planted) && !holds(plain), "\(name)")
    let bare = try Stripping.stripped(planted)
    #expect(try !holds(bare) && bare == Stripping.stripped(plain), "\(name)")
    #expect(try Stripping.stripped(bare) == bare, "\(name)")
  }

  // MARK: JPEG

  private func segment(_ mark: UInt8, _ content: [UInt8]) -> [UInt8] {
    let length = content.count + 2
    return [0xFF, mark, UInt8(length >> 8), UInt8(length & 0xFF)] + content
  }

  /// Makes the first segment of a kind longer.
  private func lengthened(_ jpeg: [UInt8], _ marks: Set<UInt8>) throws -> [UInt8] {
    var place = 2
    while !marks.contains(jpeg[place + 1]) {
      place += 2 + Int(jpeg[place + 2]) << 8 + Int(jpeg[place + 3])
      try #require(jpeg[place] == 0xFF && place < jpeg.count - 4)
    }
    let end = place + 2 + Int(jpeg[place + 2]) << 8 + Int(jpeg[place + 3])
    return jpeg[..<place] + segment(jpeg[place + 1], jpeg[(place + 4)..<end] + Self.secret)
      + jpeg[end...]
  }

  @Test(arguments: ["jpg[Q=90]", "jpg[Q=90,interlace]"])
  func inAJPEG(format: String) throws {
    let plain = try TestPictures.encode(Self.pixels, as: format)
    let levels = Self.secret + [UInt8](repeating: 1, count: 58)
    let codes = [UInt8](repeating: 0, count: 15) + [6] + Self.secret
    let segments: [(String, [UInt8])] = [
      ("a table of quantization that no scan uses", segment(0xDB, [3] + levels)),
      ("a table that another replaces", segment(0xDB, [0] + levels)),
      ("a Huffman table that no scan uses", segment(0xC4, [0x13] + codes)),
      ("behind the restart interval", segment(0xDD, [0, 0] + Self.secret)),
      ("a height that the frame states", segment(0xDC, [0, 0] + Self.secret)),
      ("the version of Adobe's segment", segment(0xEE, Array("Adobe".utf8) + Self.secret + [1])),
    ]
    for (name, hidden) in segments {
      let planted = plain[..<2] + hidden + plain[2...]
      if name.contains("Adobe") {
        #expect(try holds(Array(planted)) && !holds(Stripping.stripped(Array(planted))), "\(name)")
      } else {
        try check(Array(planted), plain, name)
      }
    }
    try check(lengthened(plain, [0xC0, 0xC2]), plain, "behind the frame's fields")
    try check(lengthened(plain, [0xDA]), plain, "behind a scan's fields")
    #expect(
      try TestPictures.decode(Stripping.stripped(plain)).bytes == TestPictures.decode(plain).bytes)
  }

  // MARK: PNG

  private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    func bytes(_ value: UInt32) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
    }
    let body = Array(type.utf8) + content
    return bytes(UInt32(content.count)) + body + bytes(CRC32(body).value)
  }

  @Test func inAPNG() throws {
    let plain = try TestPictures.encode(Self.pixels, as: "png")
    let zeros = [UInt8](repeating: 0, count: 26)
    let chunks: [(String, [UInt8])] = [
      ("a frame of no animation", chunk("fdAT", [0, 0, 0, 0] + Self.secret)),
      ("the head of one", chunk("fcTL", Self.secret + zeros.prefix(20))),
      ("a palette beside true colours", chunk("PLTE", Self.secret)),
      ("a density that is none", chunk("pHYs", Self.secret + [0, 0, 1])),
      ("a background", chunk("bKGD", Self.secret)),
      ("behind the gamma", chunk("gAMA", [0, 0, 1, 1] + Self.secret)),
      ("a kind that nobody knows", chunk("seCr", Self.secret)),
    ]
    for (name, hidden) in chunks {
      try check(Array(plain[..<33] + hidden + plain[33...]), plain, name)
    }
    let late = chunk("acTL", Self.secret + [0, 0]) + chunk("cHRM", Self.secret + zeros)
    try check(Array(plain.dropLast(12)) + late + plain.suffix(12), plain, "behind the pixels")
  }

  // MARK: WebP

  private func riff(_ chunks: [(String, [UInt8])]) -> [UInt8] {
    func little(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> (8 * $0) & 0xFF) } }
    let body = chunks.flatMap { type, content in
      Array(type.utf8) + little(content.count) + content
        + [UInt8](repeating: 0, count: content.count % 2)
    }
    return Array("RIFF".utf8) + little(body.count + 4) + Array("WEBP".utf8) + body
  }

  @Test func inAWebP() throws {
    let image = try pixels(of: TestPictures.encode(Self.pixels, as: "webp"))
    let head: [UInt8] = [0, 0, 0, 0, 31, 0, 0, 19, 0, 0]
    let plain = riff([("VP8X", head), image])
    let planted: [(String, [(String, [UInt8])])] = [
      ("behind the head", [("VP8X", head + Self.secret), image]),
      (
        "in the head's reserve",
        [("VP8X", [0] + Self.secret[..<3] + head[4...]), ("SECR", []), image]
      ),
      ("a second picture", [("VP8X", head), image, ("VP8L", Self.secret)]),
      ("a frame of no animation", [("VP8X", head), ("ANMF", Self.secret + head + head), image]),
      ("an animation of none", [("VP8X", head), ("ANIM", Self.secret), image]),
      ("transparency behind the picture", [("VP8X", head), image, ("ALPH", Self.secret)]),
    ]
    for (name, chunks) in planted { try check(riff(chunks), plain, name) }
    try check(riff([image, ("ICCP", Self.secret)]), riff([image]), "behind a simple picture")
    #expect(
      try TestPictures.decode(Stripping.stripped(plain)).bytes == TestPictures.decode(plain).bytes)
  }

  /// The chunk of the pixels.
  private func pixels(of webp: [UInt8]) throws -> (String, [UInt8]) {
    var place = 12
    while true {
      let type = String(decoding: webp[place..<place + 4], as: UTF8.self)
      let length = webp[place + 4..<place + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
      if type.hasPrefix("VP8"), type != "VP8X" {
        return (type, Array(webp[place + 8..<place + 8 + length]))
      }
      place += 8 + length + length % 2
      try #require(place < webp.count - 8)
    }
  }

  // MARK: GIF

  @Test func inAGIF() throws {
    let plain = try TestPictures.encode(Self.pixels, as: "gif")
    let start = 13 + (plain[10] & 0x80 == 0 ? 0 : 3 << (Int(plain[10] & 7) + 1))
    let name = Array("NETSCAPE2.0".utf8)
    let blocks: [(String, [UInt8], kept: [UInt8])] = [
      (
        "behind the fields of a frame's control", [0x21, 0xF9, 10, 0, 0, 0, 0] + Self.secret + [0],
        [0x21, 0xF9, 4, 0, 0, 0, 0, 0]
      ),
      (
        "behind the loop count", [0x21, 0xFF, 11] + name + [9, 1, 0, 0] + Self.secret + [0],
        [0x21, 0xFF, 11] + name + [3, 1, 0, 0, 0]
      ),
      (
        "in a block behind it", [0x21, 0xFF, 11] + name + [3, 1, 0, 0, 6] + Self.secret + [0],
        [0x21, 0xFF, 11] + name + [3, 1, 0, 0, 0]
      ),
      ("instead of a loop count", [0x21, 0xFF, 11] + name + [6] + Self.secret + [0], []),
    ]
    for (name, hidden, kept) in blocks {
      try check(
        plain[..<start] + hidden + plain[start...], plain[..<start] + kept + plain[start...], name)
    }
  }

  // MARK: HEIC

  @Test func inAHEIC() throws {
    let plain = try TestPictures.encode(Self.pixels, as: "heic")
    func place(_ type: String) throws -> Int {
      try #require(plain.indices.first { plain[$0...].starts(with: type.utf8) }) + 4
    }
    let handler = try place("hdlr")
    let mark = Self.secret.prefix(4)
    for (name, place) in [
      ("before the handler", handler + 4), ("reserved", handler + 12), ("reserved", handler + 20),
      ("the brand's version", 12),
    ] {
      var planted = plain
      planted.replaceSubrange(place..<place + 4, with: mark)
      let bare = try Stripping.stripped(planted)
      #expect(try bare == Stripping.stripped(plain) && !holds(bare), "\(name)")
    }
    var branded = plain
    branded.replaceSubrange(16..<20, with: mark)
    #expect(try !holds(Stripping.stripped(branded)))
    #expect(
      try TestPictures.decode(Stripping.stripped(branded)).bytes == TestPictures.decode(plain).bytes
    )
  }

  /// Fields, what is planted, and what becomes of both.
  @Test func behindThePropertiesOfAHEIC() throws {
    let unit: [UInt8] = [0, 1, 0, 2, 7, 7]
    let head = [UInt8](repeating: 1, count: 22)
    let text: [UInt8] = [0, 1, 0, 6] + Self.secret
    let cases: [(String, [UInt8], [UInt8], kept: [UInt8])] = [
      ("ispe", [0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 20], Self.secret, []),
      ("irot", [1], Self.secret, []),
      ("pixi", [0, 0, 0, 0, 3, 8, 8, 8], Self.secret, []),
      ("auxC", [0, 0, 0, 0] + Array("urn".utf8) + [0], Self.secret, []),
      ("colr", Array("nclx".utf8) + [0, 1, 0, 13, 0, 6, 0x80], Self.secret, []),
      ("hvcC", head + [1, 0x20] + unit, Self.secret, []),
      // The number of arrays is that of those which stay.
      ("hvcC", head, [2, 0x27] + text + [0x21] + unit, [1, 0x21] + unit),
      ("av1C", [0x81, 0, 0, 0, 0x0A, 2, 7, 7], [0x2A, 6] + Self.secret, [0x7A, 6]),
    ]
    for (type, fields, hidden, kept) in cases {
      let bare = try #require(try HEIFProperties.stripped(type, fields + hidden))
      let expected = fields + kept
      let rest = [UInt8](repeating: 0, count: fields.count + hidden.count - expected.count)
      #expect(bare == expected + rest, "\(type)")
      #expect(try HEIFProperties.stripped(type, bare) == bare, "\(type)")
    }
    #expect(try HEIFProperties.stripped("uuid", Self.secret) == nil)
  }
}
