import AlbumTestSupport
import FileKinds
import Foundation
import Testing
import ThumbnailProtocol

/// The daemon keeps nothing from a cell but a thumbnail: of the right format, complete, within limits,
/// without metadata.
@Suite(.serialized)
struct InspectionTests {
  typealias Fault = ThumbnailInspection.Fault

  /// Thumbnails from the real cell: one for each kind of picture, with and without transparency.
  static let made: [(original: ImageKind, format: ImageKind, bytes: [UInt8])] = {
    guard let worker = try? TestWorker() else { return [] }
    var pictures: [[UInt8]] = []
    for format in ["jpg", "png", "webp", "gif", "tif", "heic", "avif", "jxl"] {
      guard let picture = try? TestPictures.encode(TestPictures.pixels(), as: format) else {
        return []
      }
      pictures.append(picture)
    }
    for format in ["png", "webp"] {
      let transparent = try? Workshop.open { shop in
        try shop.write(TestPictures.pixels(), "in.ppm")
        try shop.run("vips", "bandjoin_const", "in.ppm", "out." + format, "100")
        return try shop.read("out." + format)
      }
      pictures.append(transparent ?? [])
    }
    return pictures.compactMap { picture in
      guard let original = ImageKind(sniffing: picture),
        let (format, bytes) = try? worker.thumbnail(of: picture)
      else { return nil }
      return (original, format, bytes)
    }
  }()

  @Test("Thumbnails from the cell pass, and their size is returned")
  func passes() throws {
    #expect(Self.made.count == 10)
    #expect(Set(Self.made.map(\.format)) == [.jpeg, .png, .webp])
    for one in Self.made {
      let size = try ThumbnailInspection.inspect(
        one.bytes, format: one.format, original: one.original, edge: 512)
      #expect(size == ThumbnailInspection.Size(width: 512, height: 320), "\(one.original)")
    }
  }

  @Test("A greater edge than was asked for is refused")
  func edge() {
    for one in Self.made {
      #expect(throws: Fault.dimensions) {
        try ThumbnailInspection.inspect(
          one.bytes, format: one.format, original: one.original, edge: 511)
      }
    }
  }

  @Test("A format other than the claimed one, or other than such a picture gets, is refused")
  func format() {
    for one in Self.made {
      for said in ImageKind.allCases where said != one.format {
        #expect(throws: Fault.format) {
          try ThumbnailInspection.inspect(
            one.bytes, format: said, original: one.original, edge: 512)
        }
      }
    }
    for one in Self.made where one.format != .jpeg {
      #expect(throws: Fault.format) {
        try ThumbnailInspection.inspect(one.bytes, format: one.format, original: .jpeg, edge: 512)
      }
    }
  }

  @Test("One cut at any byte is refused, and so is one with anything behind its end")
  func lengths() {
    for one in Self.made {
      for length in stride(from: 0, to: one.bytes.count, by: max(1, one.bytes.count / 400)) {
        #expect(throws: Fault.self, "\(one.format) \(length)") {
          try ThumbnailInspection.inspect(
            Array(one.bytes.prefix(length)), format: one.format, original: one.original, edge: 512)
        }
      }
      for tail in [[0], [0, 0], Array("<x:xmpmeta>".utf8), one.bytes] {
        #expect(throws: Fault.self, "\(one.format)") {
          try ThumbnailInspection.inspect(
            one.bytes + tail, format: one.format, original: one.original, edge: 512)
        }
      }
    }
  }

  @Test("Metadata of any kind is refused")
  func metadata() throws {
    for one in Self.made {
      let name = one.format == .jpeg ? "jpg" : one.format == .png ? "png" : "webp"
      for tag in ["-GPSLatitude=48.1", "-XMP:Creator=Somebody"] {
        let tagged = try TestPictures.tag(one.bytes, name, tag)
        #expect(throws: Fault.metadata, "\(one.format) \(tag)") {
          try ThumbnailInspection.inspect(
            tagged, format: one.format, original: one.original, edge: 512)
        }
      }
    }
    let jpeg = try #require(Self.made.first { $0.format == .jpeg }).bytes
    let commented = try TestPictures.tag(jpeg, "jpg", "-Comment=secret")
    #expect(throws: Fault.metadata) {
      try ThumbnailInspection.inspect(commented, format: .jpeg, original: .jpeg, edge: 512)
    }
  }

  @Test("More bytes than so many pixels can need are refused")
  func byteCount() throws {
    var png = try #require(Self.made.first { $0.format == .png }).bytes
    let end = png.count - 12
    let padding = [0, 0x40, 0, 0] + Array("IDAT".utf8) + [UInt8](repeating: 7, count: 0x400004)
    png.insert(contentsOf: padding, at: end)
    #expect(throws: Fault.byteCount) {
      try ThumbnailInspection.inspect(png, format: .png, original: .png, edge: 512)
    }
  }

  @Test("Any bytes may be inspected: random ones, and thumbnails with random bytes in them")
  func random() throws {
    let seed = SeededRandom().seed
    var random = Seeded(state: seed)
    for _ in 0..<3000 {
      guard let one = Self.made.randomElement(using: &random) else { break }
      var bytes = Array(one.bytes.prefix(Int.random(in: 0...2000, using: &random)))
      for _ in 0..<Int.random(in: 0...6, using: &random) where !bytes.isEmpty {
        bytes[Int.random(in: 0..<min(bytes.count, 80), using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      if let size = try? ThumbnailInspection.inspect(
        bytes, format: one.format, original: one.original, edge: 512)
      {
        #expect(max(size.width, size.height) <= 512, "seed \(seed)")
      }
    }
    print("inspection: seed \(seed)")
  }
}
