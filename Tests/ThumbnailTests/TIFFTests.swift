import AlbumTestSupport
import FileKinds
import Testing

/// A TIFF's first page is shown whatever form its samples have.
@Suite struct TIFFTests {
  /// A TIFF of one colour that is not packed: its samples one after another, or each in tiles of its own.
  private func tiff(_ colour: [UInt8], isOfDifferences: Bool = false, tile: Int? = nil) -> [UInt8] {
    let (width, height) = (128, 96)
    let tiles = tile.map { ((width + $0 - 1) / $0) * ((height + $0 - 1) / $0) } ?? 0
    var data: [UInt8] = []
    var offsets: [UInt32] = []
    let pieces = tile.map { edge in
      colour.flatMap { sample in
        [[UInt8]](repeating: [UInt8](repeating: sample, count: edge * edge), count: tiles)
      }
    }
    for piece in pieces ?? [Array(repeatElement(colour, count: width * height).joined())] {
      offsets.append(UInt32(8 + data.count))
      data += piece
    }
    func long(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(value >> (8 * $0) & 0xFF) } }
    let lengths = [UInt32](repeating: UInt32(data.count / offsets.count), count: offsets.count)
    let lists = UInt32(8 + data.count)
    let bits = lists + UInt32(8 * offsets.count)
    func list(_ values: [UInt32], at place: UInt32) -> UInt32 {
      values.count == 1 ? values[0] : place
    }
    // Tag, type (3: 16 bits, 4: 32 bits), count, value or place.
    var fields: [(UInt16, UInt16, UInt32, UInt32)] = [
      (256, 4, 1, UInt32(width)), (257, 4, 1, UInt32(height)), (258, 3, 3, bits), (259, 3, 1, 1),
      (262, 3, 1, isOfDifferences ? 6 : 2), (277, 3, 1, 3), (284, 3, 1, tile == nil ? 1 : 2),
    ]
    let count = UInt32(offsets.count)
    let places = list(offsets, at: lists)
    let sizes = list(lengths, at: lists + 4 * count)
    if let tile {
      fields += [
        (322, 4, 1, UInt32(tile)), (323, 4, 1, UInt32(tile)), (324, 4, count, places),
        (325, 4, count, sizes),
      ]
    } else {
      fields += [(273, 4, 1, places), (278, 4, 1, UInt32(height)), (279, 4, 1, sizes)]
    }
    if isOfDifferences { fields.append((530, 3, 2, 0x0001_0001)) }
    var directory = [UInt8(fields.count), 0]
    for (tag, type, count, value) in fields.sorted(by: { $0.0 < $1.0 }) {
      directory += long(UInt32(tag) | UInt32(type) << 16) + long(count) + long(value)
    }
    let tables = (offsets + lengths).flatMap(long) + [8, 0, 8, 0, 8, 0]
    let start = lists + UInt32(tables.count)
    return Array("II*\0".utf8) + long(start) + data + tables + directory + long(0)
  }

  private func expect(_ picture: [UInt8], near colour: [UInt8]) throws {
    let (kind, bytes) = try TestWorker().thumbnail(of: picture)
    let pixels = try TestPictures.decode(bytes)
    #expect(kind == .png || kind == .jpeg)
    #expect(pixels.width == 128 && pixels.height == 96)
    let shown = Array(pixels[64, 48].prefix(3))
    #expect(zip(shown, colour).allSatisfy { abs(Int($0) - Int($1)) < 6 }, "\(shown)")
  }

  @Test func samplesOneAfterAnother() throws {
    try expect(tiff([200, 60, 40]), near: [200, 60, 40])
  }

  @Test func brightnessAndDifferencesOfColours() throws {
    try expect(tiff([100, 94, 200], isOfDifferences: true), near: [200, 60, 40])
  }

  @Test func tilesOfEachColour() throws {
    try expect(tiff([200, 60, 40], tile: 64), near: [200, 60, 40])
  }
}
