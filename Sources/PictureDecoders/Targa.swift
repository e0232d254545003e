/// Decodes TGA. Numbers are little-endian; reference: Truevision, "TGA File Format Specification 2.0".
///
///     offset  size
///          0     1  length of the text after this header
///          1     1  1: there is a colour map
///          2     1  1 mapped, 2 colour, 3 grey; 9, 10, 11 the same in runs
///          3     2  first colour of the map
///          5     2  number of its colours
///          7     1  bits of a colour of the map
///         12     4  width and height
///         16     1  bits of a pixel: 8, 15, 16, 24, 32
///         17     1  bits 0-3: bits of alpha; bit 4: rows go to the left; bit 5: the top row comes first
///         18        text, colour map, pixels: blue, green, red, alpha
///
/// A run is a byte and what it repeats: bit 7 set, one pixel; not set, as many pixels as it counts.
package struct Targa {
  private let width: Int
  private let height: Int
  private let kind: UInt8
  private let depth: Int
  private let descriptor: UInt8
  private let firstColour: Int
  /// Four bytes a colour: red, green, blue, alpha.
  private var map: [UInt8] = []
  private let hasAlpha: Bool
  private let pixels: Int

  package static func decode(_ file: Span<UInt8>, edge: Int) throws(DecodingFault) -> DecodedPicture
  {
    let targa = try Targa(file)
    let isGrey = targa.kind & 7 == 3
    return try Canvas.picture(hasAlpha: targa.hasAlpha) { usesAlpha throws(DecodingFault) in
      try targa.canvas(file, edge, usesAlpha ? .colourAndAlpha : isGrey ? .grey : .colour)
    }
  }

  private init(_ file: Span<UInt8>) throws(DecodingFault) {
    kind = try file.byte(2)
    width = try file.little16(12)
    height = try file.little16(14)
    depth = Int(try file.byte(16))
    descriptor = try file.byte(17)
    firstColour = try file.little16(3)
    guard [1, 2, 3, 9, 10, 11].contains(kind), [8, 15, 16, 24, 32].contains(depth),
      (depth == 8) == (kind & 7 != 2)
    else { throw .unknown }
    var place = 18 + Int(try file.byte(0))
    let hasMap = try file.byte(1) == 1
    let bits = Int(try file.byte(7))
    let colourBits = kind & 7 == 1 && hasMap ? bits : depth
    hasAlpha = colourBits == 32 && descriptor & 0x0f == 8
    if hasMap {
      guard [15, 16, 24, 32].contains(bits) else { throw .unknown }
      for _ in 0..<(try file.little16(5)) {
        _ = try file.byte(place + (bits + 7) / 8 - 1)
        let colour = Targa.colour(file, at: place, bits: bits)
        map += [colour.red, colour.green, colour.blue, bits == 32 ? file[place + 3] : 255]
        place += (bits + 7) / 8
      }
    }
    pixels = place
  }

  private static func colour(_ file: Span<UInt8>, at place: Int, bits: Int)
    -> (red: UInt8, green: UInt8, blue: UInt8)
  {
    if bits > 16 { return (file[place + 2], file[place + 1], file[place]) }
    let pixel = Int(file[place]) | Int(file[place + 1]) << 8
    func level(_ shift: Int) -> UInt8 { UInt8((pixel >> shift & 31) * 255 / 31) }
    return (level(10), level(5), level(0))
  }

  private func canvas(_ file: Span<UInt8>, _ edge: Int, _ bands: DecodedPicture.Bands)
    throws(DecodingFault) -> (Canvas, Bool)
  {
    var canvas = try Canvas(width: width, height: height, bands, edge: edge)
    let bytes = (depth + 7) / 8
    var place = pixels
    // A run of 128 pixels takes two bytes: nothing is allocated for each pixel.
    var pixel = [UInt8](repeating: 0, count: bands.count)
    var row = [UInt8](repeating: 0, count: width * bands.count)
    var (x, y) = (0, 0)
    func put() {
      let target = (descriptor & 0x10 == 0 ? x : width - 1 - x) * pixel.count
      for band in pixel.indices { row[target + band] = pixel[band] }
      x += 1
      if x < width { return }
      canvas.add(row, at: descriptor & 0x20 == 0 ? height - 1 - y : y)
      (x, y) = (0, y + 1)
    }
    while y < height {
      var (count, isRun) = (1, false)
      if kind > 8 {
        guard place < file.count else { return (canvas, false) }
        (count, isRun) = (Int(file[place] & 0x7f) + 1, file[place] & 0x80 != 0)
        place += 1
      }
      for index in 0..<count where y < height {
        if index == 0 || !isRun {
          guard bytes <= file.count - place else { return (canvas, false) }
          read(file, at: place, into: &pixel)
          place += bytes
        }
        put()
      }
    }
    return (canvas, true)
  }

  /// Reads as many bands as the pixel has.
  private func read(_ file: Span<UInt8>, at place: Int, into pixel: inout [UInt8]) {
    switch kind & 7 {
    case 1:
      let index = (Int(file[place]) - firstColour) * 4
      let isThere = index >= 0 && index + 3 < map.count
      for band in pixel.indices { pixel[band] = isThere ? map[index + band] : 0 }
    case 3: pixel[0] = file[place]
    default:
      (pixel[0], pixel[1], pixel[2]) = Targa.colour(file, at: place, bits: depth)
      if pixel.count == 4 { pixel[3] = file[place + 3] }
    }
  }
}
