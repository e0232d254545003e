/// Decodes BMP, of Windows and OS/2. Numbers are little-endian; reference: Microsoft, "Bitmap Storage".
///
///     offset  size
///          0     2  "BM"
///         10     4  offset of the pixels
///         14        the header of a DIB, which icons have too:
///          0     4  its length: 12 (OS/2, where edges have 2 bytes each), 16, 40, 52, 56, 64, 108, 124
///          4     4  width
///          8     4  height; negative: the top row comes first
///         14     2  bits of a pixel: 1, 4, 8 with a palette; 16, 24, 32
///         16     4  0 plain; 1, 2 runs of 8 or 4 bits; 3, 6 masks of the colours
///         32     4  colours of the palette; 0: all
///         40    16  masks of red, green, blue and alpha
package enum Bitmap {
  package static func decode(_ file: Span<UInt8>, edge: Int) throws(DecodingFault) -> DecodedPicture
  {
    let pixels = try file.little32(10)
    return try BitmapBody(file, at: 14, pixels: pixels == 0 ? nil : pixels).decode(file, edge: edge)
  }
}

/// A DIB: a bitmap without its file header.
struct BitmapBody {
  private struct Mask {
    var shift = 0
    var bits = 0

    init(_ mask: Int) {
      guard mask != 0 else { return }
      shift = mask.trailingZeroBitCount
      bits = (mask >> shift + 1).trailingZeroBitCount
    }

    /// Spreads the masked bits to a byte.
    func level(_ pixel: Int) -> UInt8 {
      if bits == 0 { return 0 }
      let top = 1 << bits - 1
      return UInt8(truncatingIfNeeded: (pixel >> shift & top) * 255 / top)
    }
  }

  private let width: Int
  private let height: Int
  private let isTopDown: Bool
  private let depth: Int
  private let compression: Int
  private let masks: [Mask]
  /// Three bytes a colour: red, green, blue.
  private var palette: [UInt8] = []
  private let pixels: Int
  /// True if the rows of a mask follow those of the colours: 1 is transparent.
  private let isIcon: Bool

  /// - Parameters:
  ///   - pixels: where the pixels begin; nil: after the palette.
  init(_ file: Span<UInt8>, at start: Int, pixels: Int?, isIcon: Bool = false) throws(DecodingFault)
  {
    let length = try file.little32(start)
    let isCore = length == 12
    guard isCore || (16...256).contains(length) else { throw .unknown }
    width = isCore ? try file.little16(start + 4) : try file.little32(start + 4)
    let tall = isCore ? try file.little16(start + 6) : try file.little32(start + 8)
    let signed = isCore ? tall : Int(Int32(truncatingIfNeeded: tall))
    isTopDown = signed < 0
    height = abs(signed) / (isIcon ? 2 : 1)
    depth = try file.little16(start + (isCore ? 10 : 14))
    compression = length >= 40 ? try file.little32(start + 16) : 0
    let used = length >= 40 ? try file.little32(start + 32) : 0
    self.isIcon = isIcon
    guard [1, 4, 8, 16, 24, 32].contains(depth) else { throw .unknown }
    let isFitting =
      switch compression {
      case 0: true
      // An icon cannot be packed: its mask follows rows of known length.
      case 1: depth == 8 && !isIcon
      case 2: depth == 4 && !isIcon
      case 3, 6: depth == 16 || depth == 32
      default: false
      }
    guard isFitting else { throw .unknown }
    masks = try BitmapBody.masks(file, start, length, compression, depth, isIcon)
    let behind = length == 40 ? (compression == 3 ? 12 : compression == 6 ? 16 : 0) : 0
    let paletteStart = start + length + behind
    let entry = isCore ? 3 : 4
    let colours = depth > 8 ? min(used, 256) : used == 0 ? 1 << depth : min(used, 1 << depth)
    if depth <= 8 {
      for index in 0..<colours {
        let place = paletteStart + index * entry
        palette += [try file.byte(place + 2), try file.byte(place + 1), try file.byte(place)]
      }
    }
    self.pixels = pixels ?? paletteStart + colours * entry
  }

  private static func masks(
    _ file: Span<UInt8>, _ start: Int, _ length: Int, _ compression: Int, _ depth: Int,
    _ isIcon: Bool
  ) throws(DecodingFault) -> [Mask] {
    if compression == 3 || compression == 6 {
      var masks: [Mask] = []
      for index in 0..<3 { masks.append(Mask(try file.little32(start + 40 + index * 4))) }
      let hasAlpha = length >= 56 || compression == 6
      masks.append(Mask(hasAlpha ? try file.little32(start + 52) : 0))
      return masks
    }
    if depth == 16 { return [Mask(0x7c00), Mask(0x3e0), Mask(0x1f), Mask(0)] }
    // Plain pixels of 32 bits have alpha in icons only.
    return [Mask(0xff0000), Mask(0xff00), Mask(0xff), Mask(isIcon ? 0xff00_0000 : 0)]
  }

  func decode(_ file: Span<UInt8>, edge: Int) throws(DecodingFault) -> DecodedPicture {
    try Canvas.picture(hasAlpha: depth == 32 && masks[3].bits > 0) {
      usesAlpha throws(DecodingFault) in
      try canvas(file, edge, usesAlpha ? .alpha : isIcon ? .mask : .none)
    }
  }

  private enum Transparency {
    case none, alpha, mask
  }

  private func canvas(_ file: Span<UInt8>, _ edge: Int, _ transparency: Transparency)
    throws(DecodingFault) -> (Canvas, Bool)
  {
    var canvas = try Canvas(
      width: width, height: height, transparency == .none ? .colour : .colourAndAlpha, edge: edge)
    if compression == 1 || compression == 2 {
      let isComplete = runs(file, into: &canvas)
      return (canvas, isComplete)
    }
    let rowLength = (width * depth + 31) / 32 * 4
    for number in 0..<height {
      let start = pixels + number * rowLength
      guard start <= file.count, rowLength <= file.count - start else { return (canvas, false) }
      var row = colours(file, at: start, hasAlpha: transparency == .alpha, canvas.bands.count)
      if transparency == .mask { mask(&row, file, number, pixels + height * rowLength) }
      canvas.add(row, at: isTopDown ? number : height - 1 - number)
    }
    return (canvas, true)
  }

  private func colours(_ file: Span<UInt8>, at start: Int, hasAlpha: Bool, _ bands: Int) -> [UInt8]
  {
    var row: [UInt8] = []
    row.reserveCapacity(width * bands)
    for x in 0..<width {
      switch depth {
      case 24:
        let place = start + x * 3
        row += [file[place + 2], file[place + 1], file[place]]
        if bands == 4 { row.append(255) }
      case 16, 32:
        var pixel = 0
        for byte in (0..<depth / 8).reversed() {
          pixel = pixel << 8 | Int(file[start + x * (depth / 8) + byte])
        }
        row += [masks[0].level(pixel), masks[1].level(pixel), masks[2].level(pixel)]
        if bands == 4 { row.append(hasAlpha ? masks[3].level(pixel) : 255) }
      default:
        let shift = 8 - depth - x * depth % 8
        let index = Int(file[start + x * depth / 8]) >> shift & (1 << depth - 1)
        append(index, to: &row)
        if bands == 4 { row.append(255) }
      }
    }
    return row
  }

  /// A colour that the palette lacks is black.
  private func append(_ index: Int, to row: inout [UInt8]) {
    let isThere = index * 3 + 2 < palette.count
    for band in 0..<3 { row.append(isThere ? palette[index * 3 + band] : 0) }
  }

  /// The rows of the mask follow those of the colours. What is missing is opaque.
  private func mask(_ row: inout [UInt8], _ file: Span<UInt8>, _ number: Int, _ start: Int) {
    let place = start + number * ((width + 31) / 32 * 4)
    for x in 0..<width where place + x / 8 < file.count {
      if file[place + x / 8] >> UInt8(7 - x % 8) & 1 == 1 { row[x * 4 + 3] = 0 }
    }
  }

  /// Runs: a count and a value, or 0 and a command: 0 ends the row, 1 the picture, 2 moves on by two bytes
  /// across and down, more are so many pixels that follow. Rows without pixels stay black: a hostile file
  /// could skip any number of them. Returns false if the file ends before the picture.
  private func runs(_ file: Span<UInt8>, into canvas: inout Canvas) -> Bool {
    var indices = [UInt8](repeating: 0, count: width)
    var (x, y, place) = (0, 0, pixels)
    func finish(_ canvas: inout Canvas) {
      guard y < height else { return }
      var row: [UInt8] = []
      row.reserveCapacity(width * 3)
      for index in indices { append(Int(index), to: &row) }
      canvas.add(row, at: isTopDown ? y : height - 1 - y)
      for index in indices.indices { indices[index] = 0 }
      y += 1
    }
    func put(_ value: UInt8) {
      if x < width { indices[x] = value }
      x += 1
    }
    while y < height {
      guard place >= 0, place + 1 < file.count else {
        if x > 0 { finish(&canvas) }
        return false
      }
      let (count, value) = (Int(file[place]), file[place + 1])
      place += 2
      if count > 0 {
        for index in 0..<count { put(part(of: value, index)) }
      } else if value == 0 {
        finish(&canvas)
        x = 0
      } else if value == 1 {
        if x > 0 { finish(&canvas) }
        return true
      } else if value == 2 {
        guard place + 1 < file.count else { return false }
        x += Int(file[place])
        let rows = Int(file[place + 1])
        if rows > 0 {
          finish(&canvas)
          y += rows - 1
        }
        place += 2
      } else {
        let length = compression == 1 ? Int(value) : (Int(value) + 1) / 2
        guard length <= file.count - place else { return false }
        for index in 0..<Int(value) {
          put(part(of: file[place + (compression == 1 ? index : index / 2)], index))
        }
        place += length + length % 2
      }
    }
    return true
  }

  /// Of a run of 4 bits: its values take turns.
  private func part(of value: UInt8, _ index: Int) -> UInt8 {
    compression == 1 ? value : index % 2 == 0 ? value >> 4 : value & 0x0f
  }
}
