/// Decodes PCX. Numbers are little-endian; reference: ZSoft, "PCX Technical Reference Manual", 1991.
///
///     offset  size
///          0     1  0x0a
///          1     1  version
///          2     1  1: runs
///          3     1  bits of a pixel in one plane: 1, 2, 4, 8
///          4     8  left, top, right, bottom
///         16    48  16 colours
///         65     1  planes: 1 to 4; of 8 bits: 3 red, green, blue, and a 4th alpha
///         66     2  bytes of a row of one plane
///        128        runs, plane after plane of each row
///       -769     1  0x0c, if 256 colours follow to the end of the file
///
/// A run is a byte of 0xc0 and a count, and the byte that it repeats. Another byte stands for itself.
package enum Paintbrush {
  package static func decode(_ file: Span<UInt8>, edge: Int) throws(DecodingFault) -> DecodedPicture
  {
    let width = try file.little16(8) - file.little16(4) + 1
    let height = try file.little16(10) - file.little16(6) + 1
    let depth = Int(try file.byte(3))
    let planes = Int(try file.byte(65))
    let rowLength = try file.little16(66)
    guard [1, 2, 4, 8].contains(depth), (1...4).contains(planes) else { throw .unknown }
    guard width > 0, height > 0, rowLength * 8 >= width * depth else { throw .damaged }
    let isTrueColour = depth == 8 && planes >= 3
    guard isTrueColour || depth * planes <= 4 || depth == 8 && planes == 1 else { throw .unknown }
    let palette = isTrueColour ? [] : try palette(file, depth * planes)
    return try Canvas.picture(hasAlpha: isTrueColour && planes == 4) {
      usesAlpha throws(DecodingFault) in
      let bands: DecodedPicture.Bands = usesAlpha ? .colourAndAlpha : .colour
      var canvas = try Canvas(width: width, height: height, bands, edge: edge)
      var runs = Runs(place: 128)
      for y in 0..<height {
        guard let line = runs.next(rowLength * planes, of: file) else { return (canvas, false) }
        var row: [UInt8] = []
        row.reserveCapacity(width * bands.count)
        for x in 0..<width {
          if isTrueColour {
            for plane in 0..<bands.count { row.append(line[plane * rowLength + x]) }
          } else {
            let index = index(line, x, depth, planes, rowLength)
            for band in 0..<3 { row.append(palette[index * 3 + band]) }
          }
        }
        canvas.add(row, at: y)
      }
      return (canvas, true)
    }
  }

  private struct Runs {
    var place: Int
    var left = 0
    var value: UInt8 = 0

    /// nil at the end of the file. A run may go on in the next row.
    mutating func next(_ count: Int, of file: Span<UInt8>) -> [UInt8]? {
      var line: [UInt8] = []
      line.reserveCapacity(count)
      while line.count < count {
        if left == 0 {
          guard place < file.count else { return nil }
          (left, value) = (1, file[place])
          place += 1
          if value & 0xc0 == 0xc0 {
            guard place < file.count else { return nil }
            (left, value) = (Int(value & 0x3f), file[place])
            place += 1
          }
          if left == 0 { continue }
        }
        let part = min(left, count - line.count)
        line.append(contentsOf: repeatElement(value, count: part))
        left -= part
      }
      return line
    }
  }

  private static func index(_ line: [UInt8], _ x: Int, _ depth: Int, _ planes: Int, _ length: Int)
    -> Int
  {
    var index = 0
    for plane in 0..<planes {
      let byte = Int(line[plane * length + x * depth / 8])
      let shift = 8 - depth - x * depth % 8
      index |= (byte >> shift & (1 << depth - 1)) << (plane * depth)
    }
    return index
  }

  /// Three bytes for each index.
  private static func palette(_ file: Span<UInt8>, _ bits: Int) throws(DecodingFault) -> [UInt8] {
    if bits == 1 { return [0, 0, 0, 255, 255, 255] }
    var palette: [UInt8] = []
    if bits <= 4 {
      for place in 16..<16 + 3 * (1 << bits) { palette.append(try file.byte(place)) }
      return palette
    }
    let start = file.count - 768
    // Without a palette, the levels of grey.
    guard start > 128, file[start - 1] == 0x0c else {
      return (0...255).flatMap { [UInt8](repeating: $0, count: 3) }
    }
    for place in start..<file.count { palette.append(file[place]) }
    return palette
  }
}
