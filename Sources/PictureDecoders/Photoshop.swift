/// Decodes the flattened picture of a PSD or PSB, which Photoshop keeps for other programs ("maximize
/// compatibility"). Numbers are big-endian; reference: Adobe, "Photoshop File Formats Specification", 2019.
///
///     offset  size
///          0     4  "8BPS"
///          4     2  1; PSB: 2
///         12     2  number of channels
///         14     8  height and width
///         22     2  bits of a sample: 1, 8, 16, 32
///         24     2  0 black and white, 1 grey, 2 palette, 3 red, green, blue, 4 inks, 8 duotone
///         26     4  length of the palette, and the palette
///                4  length of the resources, and the resources: 1039 is an ICC profile
///                4  length of the layers (PSB: 8), and the layers
///                2  0 plain, 1 runs (PackBits)
///                   runs: the length of each row of each channel, 2 bytes (PSB: 4)
///                   the channels, one after the other
package struct Photoshop {
  private let isLarge: Bool
  private let channels: Int
  private let width: Int
  private let height: Int
  private let depth: Int
  private let mode: Int
  private let palette: Int
  private var profile: Range<Int>?
  private let body: Int

  package static func decode(_ file: Span<UInt8>, edge: Int) throws(DecodingFault) -> DecodedPicture
  {
    let photo = try Photoshop(file)
    var picture = try photo.picture(file, edge)
    if photo.mode != 2 { picture.profile = photo.profile }
    return picture
  }

  private init(_ file: Span<UInt8>) throws(DecodingFault) {
    let version = try file.big16(4)
    guard version == 1 || version == 2 else { throw .unknown }
    isLarge = version == 2
    channels = try file.big16(12)
    height = try file.big32(14)
    width = try file.big32(18)
    depth = try file.big16(22)
    mode = try file.big16(24)
    palette = 30
    let resources = 30 + (try file.big32(26))
    let layers = resources + 4 + (try file.big32(resources))
    profile = Photoshop.profile(file, resources + 4..<min(layers, file.count))
    body =
      try layers + (isLarge ? 8 + file.big64(layers) : 4 + file.big32(layers))
  }

  /// A resource: "8BIM", its number, a name that begins with its length, and its length. Name and content are
  /// filled up to an even number of bytes.
  private static func profile(_ file: Span<UInt8>, _ resources: Range<Int>) -> Range<Int>? {
    var place = resources.lowerBound
    while place < resources.upperBound, file.has("8BIM", at: place) {
      guard let number = try? file.big16(place + 4), let name = try? file.byte(place + 6) else {
        return nil
      }
      let length = place + 6 + (Int(name) + 2) / 2 * 2
      guard let count = try? file.big32(length) else { return nil }
      let start = length + 4
      guard count <= resources.upperBound - start else { return nil }
      if number == 1039 { return start..<start + count }
      place = start + count + count % 2
    }
    return nil
  }

  private func picture(_ file: Span<UInt8>, _ edge: Int) throws(DecodingFault) -> DecodedPicture {
    let bands: DecodedPicture.Bands
    switch mode {
    case 0, 1, 8: bands = .grey
    case 2, 3: bands = .colour
    case 4: bands = .inks
    default: throw .unknown
    }
    let needed = mode == 2 ? 1 : bands.count
    guard channels >= needed, channels <= 56 else { throw .damaged }
    guard mode == 0 ? depth == 1 : depth == 8 || depth == 16 && mode != 2 else { throw .unknown }
    var canvas = try Canvas(width: width, height: height, bands, edge: edge)
    let compression = try file.big16(body)
    guard compression <= 1 else { throw .unknown }
    var rows = Rows(
      rowLength: (width * depth + 7) / 8, isPacked: compression == 1,
      lengthByteCount: isLarge ? 4 : 2,
      lengths: body + 2,
      place: body + 2 + (compression == 1 ? channels * height * (isLarge ? 4 : 2) : 0))
    for channel in 0..<needed {
      for y in 0..<height {
        guard let row = rows.next(of: file) else { return try canvas.picture(isComplete: false) }
        if mode == 2 {
          canvas.add(try coloured(row, file), at: y)
        } else {
          canvas.add(levels(row), band: channel, at: y)
        }
      }
    }
    return try canvas.picture(isComplete: true)
  }

  private struct Rows {
    let rowLength: Int
    let isPacked: Bool
    let lengthByteCount: Int
    var lengths: Int
    var place: Int

    /// nil at the end of the file.
    mutating func next(of file: Span<UInt8>) -> [UInt8]? {
      var length = rowLength
      if isPacked {
        guard
          let stated = lengthByteCount == 4 ? try? file.big32(lengths) : try? file.big16(lengths)
        else { return nil }
        lengths += lengthByteCount
        length = stated
      }
      guard place <= file.count, length <= file.count - place else { return nil }
      defer { place += length }
      var row: [UInt8] = []
      row.reserveCapacity(rowLength)
      if isPacked {
        unpack(file, place..<place + length, &row)
      } else {
        for index in place..<place + length { row.append(file[index]) }
      }
      return row
    }

    /// A byte below 128 counts the bytes that follow, less one; one above 128 says how often the next byte
    /// repeats. What is missing stays black.
    private func unpack(_ file: Span<UInt8>, _ part: Range<Int>, _ row: inout [UInt8]) {
      var place = part.lowerBound
      while place + 1 < part.upperBound, row.count < rowLength {
        let head = Int(file[place])
        place += 1
        if head < 128 {
          let end = min(part.upperBound, place + head + 1)
          while place < end, row.count < rowLength {
            row.append(file[place])
            place += 1
          }
        } else if head > 128 {
          let count = min(257 - head, rowLength - row.count)
          row.append(contentsOf: repeatElement(file[place], count: count))
          place += 1
        }
      }
      row.append(contentsOf: repeatElement(0, count: rowLength - row.count))
    }
  }

  /// A byte for each pixel. Of inks, Photoshop keeps the paper.
  private func levels(_ row: [UInt8]) -> [UInt8] {
    let bytes: [UInt8] =
      switch depth {
      // A set bit is black.
      case 1: (0..<width).map { row[$0 / 8] >> UInt8(7 - $0 % 8) & 1 == 1 ? 0 : 255 }
      case 16: (0..<width).map { row[$0 * 2] }
      default: row
      }
    return mode == 4 ? bytes.map { 255 - $0 } : bytes
  }

  /// The palette has 256 bytes of red, then of green, then of blue.
  private func coloured(_ row: [UInt8], _ file: Span<UInt8>) throws(DecodingFault) -> [UInt8] {
    _ = try file.byte(palette + 767)
    var colours: [UInt8] = []
    colours.reserveCapacity(width * 3)
    for index in row {
      for band in 0..<3 { colours.append(file[palette + band * 256 + Int(index)]) }
    }
    return colours
  }
}
