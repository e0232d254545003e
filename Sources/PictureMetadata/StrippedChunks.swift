import AlbumModel
internal import Inflating

/// Strips a PNG: the chunks stay that pixels, colours, size and animation depend on, where they have no more
/// bytes than they may.
enum StrippedPNG {
  /// The chunks, with the greatest length of each.
  private static let kept: [String: Int64] = [
    "IHDR": 13, "PLTE": 768, "IDAT": .max, "tRNS": 256, "cHRM": 32, "gAMA": 4, "sBIT": 4, "sRGB": 1,
    "cICP": 4, "mDCV": 24, "mDCv": 24, "cLLI": 8, "cLLi": 8, "bKGD": 6, "pHYs": 9, "acTL": 8,
    "fcTL": 26,
    "fdAT": .max,
  ]

  static func plan(
    _ file: inout FileWindow, _ orientation: Int
  ) throws(StrippedPicture.Fault) -> StrippedPicture {
    var result = StrippedPicture()
    try result.keep(0..<8)
    var offset: Int64 = 8
    var hasPixels = false
    while true {
      let end = offset + 12 + (try file.number(4, at: offset))
      let type = String(decoding: try file.bytes(4, at: offset + 4), as: UTF8.self)
      if end > file.size || (type == "IHDR") != (offset == 8) { throw .damaged }
      if type == "IEND" {
        if !hasPixels || end != offset + 12 { throw .damaged }
        try result.keep(offset..<end)
        return result
      }
      if let limit = kept[type] {
        if end - offset - 12 <= limit { try result.keep(offset..<end) }
        if type == "IDAT" { hasPixels = true }
      } else if type == "iCCP" {
        try result.insert(profile(&file, offset + 8..<end - 4))
      } else if type.utf8.first.map({ $0 & 0x20 == 0 }) ?? true {
        // A decoder must know it, so it cannot go.
        throw .damaged
      }
      if type == "IHDR", orientation > 1 {
        try result.insert(chunk("eXIf", StrippedPicture.exif(orientation: orientation)))
      }
      offset = end
    }
  }

  /// The chunk of the colour profile: a name up to a zero, the method 0, and the packed profile.
  private static func profile(
    _ file: inout FileWindow, _ part: Range<Int64>
  ) throws(StrippedPicture.Fault) -> [UInt8] {
    let limit = ColourProfile.limit
    if part.count > limit { throw .damaged }
    let content = try file.bytes(part.count, at: part.lowerBound)
    guard let end = content.prefix(80).firstIndex(of: 0), end + 2 <= content.count,
      let profile = Inflation.inflated(zlib: content[(end + 2)...], atMost: Int(limit))
    else { throw .damaged }
    return ColourProfile.stripped(profile).map {
      chunk("iCCP", Array("ICC".utf8) + [0, 0] + Inflation.deflated(zlib: $0))
    } ?? []
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + content
    return bytes(UInt32(content.count)) + body + bytes(CRC32(body).value)
  }

  private static func bytes(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) }
  }
}

/// Strips a WebP: the chunks of the picture, its animation and its colour profile stay.
enum StrippedWebP {
  private static let kept: Set<String> = ["VP8X", "ICCP", "ANIM", "ANMF", "ALPH", "VP8 ", "VP8L"]
  private static let keptInFrame: Set<String> = ["ALPH", "VP8 ", "VP8L"]
  // Bits of VP8X.
  private static let (exifBit, xmpBit): (UInt8, UInt8) = (0x08, 0x04)

  static func plan(
    _ file: inout FileWindow, _ orientation: Int
  ) throws(StrippedPicture.Fault) -> StrippedPicture {
    let end = 8 + (try length(&file, at: 4))
    // Some programs leave out the byte that fills up the last chunk.
    if end < 12 || end > file.size + 1 { throw .damaged }
    let part = 12..<min(end, file.size)
    let (found, isExtended) = try chunks(&file, part, kept, orientation)
    var chunks = found
    if chunks.size == 0 { throw .damaged }
    if isExtended, orientation > 1 {
      let exif = StrippedPicture.exif(orientation: orientation)
      try chunks.insert(Array("EXIF".utf8) + little(Int64(exif.count)) + exif)
    }
    var result = StrippedPicture()
    try result.keep(0..<4)
    try result.insert(little(chunks.size + 4))
    try result.keep(8..<12)
    try result.append(chunks)
    return result
  }

  /// The chunks of a stretch that stay; and whether VP8X is one of them, without which there is no EXIF.
  private static func chunks(
    _ file: inout FileWindow, _ part: Range<Int64>, _ kept: Set<String>, _ orientation: Int
  ) throws(StrippedPicture.Fault) -> (StrippedPicture, isExtended: Bool) {
    var result = StrippedPicture()
    var offset = part.lowerBound
    var isExtended = false
    while offset < part.upperBound {
      let type = String(decoding: try file.bytes(4, at: offset), as: UTF8.self)
      let content = offset + 8..<offset + 8 + (try length(&file, at: offset + 4))
      if content.upperBound > part.upperBound { throw .damaged }
      let isOdd = content.count % 2 == 1
      offset = content.upperBound + (isOdd ? 1 : 0)
      if !kept.contains(type) { continue }
      switch type {
      case "VP8X":
        if content.count < 10 { throw .damaged }
        let flags = try file.bytes(1, at: content.lowerBound)[0] & ~(exifBit | xmpBit)
        try result.keep(content.lowerBound - 8..<content.lowerBound)
        try result.insert([flags | (orientation > 1 ? exifBit : 0)])
        try result.keep(content.lowerBound + 1..<content.upperBound)
        isExtended = true
      case "ANMF":
        if content.count < 16 { throw .damaged }
        let start = content.lowerBound + 16
        let frame = try chunks(&file, start..<content.upperBound, keptInFrame, 1).0
        try result.keep(content.lowerBound - 8..<content.lowerBound - 4)
        try result.insert(little(frame.size + 16))
        try result.keep(content.lowerBound..<start)
        try result.append(frame)
        continue
      case "ICCP":
        if content.count > ColourProfile.limit { throw .damaged }
        let profile = try file.bytes(content.count, at: content.lowerBound)
        try result.keep(content.lowerBound - 8..<content.lowerBound)
        try result.insert(
          ColourProfile.stripped(profile) ?? [UInt8](repeating: 0, count: content.count))
      default: try result.keep(content.lowerBound - 8..<content.upperBound)
      }
      if isOdd { try result.insert([0]) }
    }
    return (result, isExtended)
  }

  private static func length(
    _ file: inout FileWindow, at offset: Int64
  ) throws(StrippedPicture.Fault) -> Int64 {
    try file.bytes(4, at: offset).reversed().reduce(0) { $0 << 8 | Int64($1) }
  }

  private static func little(_ value: Int64) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> Int64(8 * $0)) }
  }
}

/// Strips a GIF: frames, their control blocks and the loop count stay. A colour profile goes, because hardly
/// any program looks at one.
enum StrippedGIF {
  private static let kept = ["NETSCAPE2.0", "ANIMEXTS1.0"]

  static func plan(_ file: inout FileWindow) throws(StrippedPicture.Fault) -> StrippedPicture {
    var result = StrippedPicture()
    let screen = try file.bytes(13, at: 0)
    var offset = 13 + palette(screen[10])
    if offset > file.size { throw .damaged }
    try result.keep(0..<offset)
    var hasPixels = false
    while true {
      let start = offset
      switch try file.bytes(1, at: offset)[0] {
      case 0x3B:
        if !hasPixels { throw .damaged }
        try result.keep(offset..<offset + 1)
        return result
      case 0x2C:
        let flags = try file.bytes(10, at: offset)[9]
        // The code size of LZW lies before the data.
        offset = try endOfStretches(&file, offset + 10 + palette(flags) + 1)
        hasPixels = true
        try result.keep(start..<offset)
      case 0x21:
        let label = try file.bytes(2, at: offset)[1]
        offset = try endOfStretches(&file, offset + 2)
        switch label {
        case 0xF9: try result.keep(start..<offset)
        case 0xFF: if try isKept(&file, start) { try result.keep(start..<offset) }
        default: break
        }
      default: throw .damaged
      }
    }
  }

  private static func isKept(
    _ file: inout FileWindow, _ block: Int64
  ) throws(StrippedPicture.Fault) -> Bool {
    guard try file.bytes(3, at: block)[2] == 11 else { return false }
    let name = try file.bytes(11, at: block + 3)
    return kept.contains { name.elementsEqual($0.utf8) }
  }

  private static func palette(_ flags: UInt8) -> Int64 {
    flags & 0x80 == 0 ? 0 : 3 << (Int64(flags & 7) + 1)
  }

  /// Stretches of up to 255 bytes, each with its length before it; one of none is the last.
  private static func endOfStretches(
    _ file: inout FileWindow, _ start: Int64
  ) throws(StrippedPicture.Fault) -> Int64 {
    var offset = start
    while true {
      let length = Int64(try file.bytes(1, at: offset)[0])
      offset += 1 + length
      if length == 0 { return offset }
    }
  }
}
