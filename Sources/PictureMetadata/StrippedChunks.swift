import AlbumModel
internal import Inflating

/// Strips a PNG: the chunks stay that pixels, colours, size and animation depend on. Each but the packed
/// pixels is written anew.
enum StrippedPNG {
  /// The chunks that stay once, in front of the pixels, with their lengths.
  private static let fixed: [String: Int] = [
    "cHRM": 32, "gAMA": 4, "sRGB": 1, "cICP": 4, "mDCV": 24, "mDCv": 24, "cLLI": 8, "cLLi": 8,
  ]

  static func plan(_ file: inout FileWindow) throws(StrippedPicture.Fault) -> StrippedPicture {
    var result = StrippedPicture()
    try result.keep(0..<8)
    var offset: Int64 = 8
    var picture = Structure()
    while true {
      let content = offset + 8..<offset + 8 + (try file.number(4, at: offset))
      let end = content.upperBound + 4
      let type = String(decoding: try file.bytes(4, at: offset + 4), as: UTF8.self)
      if end > file.size || (type == "IHDR") != (offset == 8) { throw .damaged }
      switch type {
      case "IEND":
        if !picture.hasPixels || !content.isEmpty { throw .damaged }
        try result.insert(chunk("IEND", []))
        return result
      case "IDAT":
        picture.hasPixels = true
        try result.keep(offset..<end)
      case "fdAT":
        if picture.isInFrame { try result.keep(offset..<end) }
      case "iCCP":
        if !picture.hasPixels, picture.seen.insert(type).inserted {
          try result.insert(profile(&file, content))
        }
      case "eXIf":
        // Behind the pixels, some decoders look at it and some do not. So it stays where it is.
        if picture.seen.insert(type).inserted, let orientation = file.orientation(in: content),
          orientation > 1
        {
          try result.insert(chunk(type, StrippedPicture.exif(orientation: orientation)))
        }
      default:
        let length = Int(min(content.upperBound - content.lowerBound, 800))
        let bytes = try file.bytes(length, at: content.lowerBound)
        if let kept = try picture.take(type, bytes) {
          try result.insert(chunk(type, kept))
        } else if type.utf8.first.map({ $0 & 0x20 == 0 }) ?? true, type != "PLTE" {
          // A decoder must know it, so it cannot go.
          throw .damaged
        }
      }
      offset = end
    }
  }

  /// What the chunks that were read say of those that follow.
  private struct Structure {
    var hasPixels = false
    /// True where a chunk of a frame's pixels may come.
    private(set) var isInFrame = false
    var seen: Set<String> = []
    private var (depth, colour): (UInt8, UInt8) = (0, 0)
    private var paletteCount = 0
    private var framesLeft: Int64 = 0

    /// Returns what stays of the content of a chunk, of which `bytes` are the first 800; nil if none of it.
    mutating func take(
      _ type: String, _ bytes: [UInt8]
    ) throws(StrippedPicture.Fault) -> [UInt8]? {
      if type == "fcTL" { return frame(bytes) }
      if hasPixels || seen.contains(type) { return nil }
      let kept = try fields(of: type, bytes)
      if kept != nil { seen.insert(type) }
      return kept
    }

    private mutating func fields(
      of type: String, _ bytes: [UInt8]
    ) throws(StrippedPicture.Fault) -> [UInt8]? {
      switch type {
      case "IHDR":
        if bytes.count != 13 { throw .damaged }
        (depth, colour) = (bytes[8], bytes[9])
        return bytes
      case "PLTE":
        // For the other kinds of pixels, a palette is a proposal.
        guard colour == 3, depth <= 8, bytes.count <= 3 << Int(depth) else { return nil }
        paletteCount = bytes.count / 3
        return Array(bytes[..<(3 * paletteCount)])
      case "tRNS": return hasTransparency(bytes.count) ? bytes : nil
      case "pHYs":
        // More than 16,777 pixels in a millimetre are no density.
        let isDensity = bytes.count == 9 && bytes[0] == 0 && bytes[4] == 0 && bytes[8] < 2
        return isDensity ? bytes : nil
      case "acTL":
        if bytes.count != 8 { return nil }
        framesLeft = bytes[..<4].reduce(0) { $0 << 8 | Int64($1) }
        return bytes
      default: return StrippedPNG.fixed[type] == bytes.count ? bytes : nil
      }
    }

    private func hasTransparency(_ count: Int) -> Bool {
      switch colour {
      case 0: count == 2
      case 2: count == 6
      case 3: 1...max(1, paletteCount) ~= count
      default: false
      }
    }

    /// The head of a frame, if the animation has as many.
    private mutating func frame(_ bytes: [UInt8]) -> [UInt8]? {
      isInFrame = false
      guard bytes.count == 26, framesLeft > 0 else { return nil }
      framesLeft -= 1
      isInFrame = hasPixels
      return bytes
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

/// Strips a WebP: the chunks of the picture, its animation and its colour profile stay. Each but the packed
/// pixels is written anew.
enum StrippedWebP {
  // Bits of VP8X.
  private static let (animationBit, exifBit): (UInt8, UInt8) = (0x02, 0x08)
  /// Animation, transparency, colour profile.
  private static let keptBits: UInt8 = 0x32

  static func plan(
    _ file: inout FileWindow, _ orientation: Int
  ) throws(StrippedPicture.Fault) -> StrippedPicture {
    let end = 8 + (try length(&file, at: 4))
    // Some programs leave out the byte that fills up the last chunk.
    if end < 12 || end > file.size + 1 { throw .damaged }
    let part = 12..<min(end, file.size)
    var (chunks, isExtended) = try chunks(&file, part, orientation)
    if chunks.size == 0 { throw .damaged }
    if isExtended, orientation > 1 {
      try chunks.insert(chunk("EXIF", StrippedPicture.exif(orientation: orientation)))
    }
    var result = StrippedPicture()
    try result.keep(0..<4)
    try result.insert(little(chunks.size + 4))
    try result.keep(8..<12)
    try result.append(chunks)
    return result
  }

  /// A chunk of the file.
  private struct Chunk {
    let type: String
    let content: Range<Int64>
  }

  private static func chunk(
    _ file: inout FileWindow, at offset: Int64, before end: Int64
  ) throws(StrippedPicture.Fault) -> Chunk {
    let type = String(decoding: try file.bytes(4, at: offset), as: UTF8.self)
    let content = offset + 8..<offset + 8 + (try length(&file, at: offset + 4))
    if content.upperBound > end { throw .damaged }
    return Chunk(type: type, content: content)
  }

  /// The chunks of the file that stay; and whether VP8X is one of them, without which there are only pixels.
  private static func chunks(
    _ file: inout FileWindow, _ part: Range<Int64>, _ orientation: Int
  ) throws(StrippedPicture.Fault) -> (StrippedPicture, isExtended: Bool) {
    let first = try chunk(&file, at: part.lowerBound, before: part.upperBound)
    if first.type != "VP8X" { return (try pixels(&file, part), false) }
    if first.content.count < 10 { throw .damaged }
    let head = try file.bytes(10, at: first.content.lowerBound)
    let isAnimated = head[0] & animationBit != 0
    let flags = head[0] & keptBits | (orientation > 1 ? exifBit : 0)
    var result = StrippedPicture()
    try result.insert(chunk("VP8X", [flags, 0, 0, 0] + head[4...]))
    if !isAnimated {
      try addOnce(["ICCP"], &file, part, &result)
      let pixels = try pixels(&file, part)
      if pixels.size == 0 { throw .damaged }
      try result.append(pixels)
    } else {
      try addOnce(["ICCP", "ANIM"], &file, part, &result)
      try addFrames(&file, part, &result)
    }
    return (result, true)
  }

  private static func forEach(
    _ file: inout FileWindow, _ part: Range<Int64>,
    _ body: (inout FileWindow, Chunk) throws(StrippedPicture.Fault) -> Void
  ) throws(StrippedPicture.Fault) {
    var offset = part.lowerBound
    while offset < part.upperBound {
      let chunk = try chunk(&file, at: offset, before: part.upperBound)
      offset = chunk.content.upperBound + Int64(chunk.content.count % 2)
      try body(&file, chunk)
    }
  }

  /// Adds the first colour profile, and the first chunk of what holds for all frames.
  private static func addOnce(
    _ types: Set<String>, _ file: inout FileWindow, _ part: Range<Int64>,
    _ result: inout StrippedPicture
  ) throws(StrippedPicture.Fault) {
    var (left, added) = (types, [UInt8]())
    try forEach(&file, part) { (file, found) throws(StrippedPicture.Fault) in
      guard left.remove(found.type) != nil else { return }
      if found.type == "ANIM" {
        if found.content.count < 6 { throw .damaged }
        added += chunk("ANIM", try file.bytes(6, at: found.content.lowerBound))
        return
      }
      if found.content.count > ColourProfile.limit { throw .damaged }
      let profile = try file.bytes(found.content.count, at: found.content.lowerBound)
      let none = [UInt8](repeating: 0, count: profile.count)
      added += chunk("ICCP", ColourProfile.stripped(profile) ?? none)
    }
    try result.insert(added)
  }

  /// Adds the frames of an animation: 16 bytes of which the last has two flags, and the pixels.
  private static func addFrames(
    _ file: inout FileWindow, _ part: Range<Int64>, _ result: inout StrippedPicture
  ) throws(StrippedPicture.Fault) {
    var frames = StrippedPicture()
    try forEach(&file, part) { (file, found) throws(StrippedPicture.Fault) in
      guard found.type == "ANMF" else { return }
      if found.content.count < 16 { throw .damaged }
      let start = found.content.lowerBound + 16
      let head = try file.bytes(16, at: found.content.lowerBound)
      let pixels = try pixels(&file, start..<found.content.upperBound)
      try frames.insert(
        Array("ANMF".utf8) + little(pixels.size + 16) + head[..<15] + [head[15] & 3])
      try frames.append(pixels)
    }
    try result.append(frames)
  }

  /// The first picture of a stretch, with the transparency that one of the kind "VP8 " has in front of it.
  private static func pixels(
    _ file: inout FileWindow, _ part: Range<Int64>
  ) throws(StrippedPicture.Fault) -> StrippedPicture {
    var result = StrippedPicture()
    var transparency: Range<Int64>?
    try forEach(&file, part) { (_, found) throws(StrippedPicture.Fault) in
      let isLossless = found.type == "VP8L"
      if found.type == "ALPH", result.size == 0 { transparency = transparency ?? found.content }
      guard isLossless || found.type == "VP8 ", result.size == 0 else { return }
      let parts = [isLossless ? nil : transparency, found.content].compactMap { $0 }
      for content in parts {
        try result.keep(content.lowerBound - 8..<content.upperBound)
        if content.count % 2 == 1 { try result.insert([0]) }
      }
    }
    return result
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    Array(type.utf8) + little(Int64(content.count)) + content
      + [UInt8](repeating: 0, count: content.count % 2)
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

/// Strips a GIF: frames, their control blocks and the loop count stay, and each but the frames is written
/// anew. A colour profile goes, because hardly any program looks at one. Zeros between blocks go, and a
/// missing end is added: decoders show such a file.
enum StrippedGIF {
  /// Blocks that hold a loop count.
  private static let loops = ["NETSCAPE2.0", "ANIMEXTS1.0"]

  static func plan(_ file: inout FileWindow) throws(StrippedPicture.Fault) -> StrippedPicture {
    var result = StrippedPicture()
    let screen = try file.bytes(13, at: 0)
    var offset = 13 + palette(screen[10])
    if offset > file.size { throw .damaged }
    try result.keep(0..<offset)
    var (hasPixels, hasLoop) = (false, false)
    var control: [UInt8] = []
    while true {
      let start = offset
      let isOver = hasPixels && offset == file.size
      switch isOver ? 0x3B : try file.bytes(1, at: offset)[0] {
      case 0x3B:
        if !hasPixels { throw .damaged }
        try result.insert([0x3B])
        return result
      case 0 where hasPixels:
        offset += 1
      case 0x2C:
        let flags = try file.bytes(10, at: offset)[9]
        // The code size of LZW lies before the data.
        offset = try endOfStretches(&file, offset + 10 + palette(flags) + 1)
        hasPixels = true
        try result.insert(control)
        control = []
        try result.keep(start..<offset)
      case 0x21:
        let label = try file.bytes(2, at: offset)[1]
        offset = try endOfStretches(&file, offset + 2)
        if label == 0xF9 { control = try self.control(&file, start) ?? control }
        if label == 0xFF, !hasLoop, let loop = try loop(&file, start) {
          try result.insert(loop)
          hasLoop = true
        }
      default: throw .damaged
      }
    }
  }

  /// The block that says how a frame is shown; the last one in front of a frame counts.
  private static func control(
    _ file: inout FileWindow, _ block: Int64
  ) throws(StrippedPicture.Fault) -> [UInt8]? {
    let head = try file.bytes(3, at: block)
    if head[2] < 4 { return nil }
    let fields = try file.bytes(4, at: block + 3)
    return [0x21, 0xF9, 4, fields[0] & 0x1F] + fields[1...] + [0]
  }

  /// The block that says how often an animation runs: a name, and three bytes of which the first is 1.
  private static func loop(
    _ file: inout FileWindow, _ block: Int64
  ) throws(StrippedPicture.Fault) -> [UInt8]? {
    guard try file.bytes(3, at: block)[2] == 11 else { return nil }
    let name = try file.bytes(11, at: block + 3)
    guard loops.contains(where: { name.elementsEqual($0.utf8) }) else { return nil }
    if try file.bytes(1, at: block + 14)[0] < 3 { return nil }
    let count = try file.bytes(3, at: block + 15)
    return count[0] & 7 == 1 ? [0x21, 0xFF, 11] + name + [3, 1] + count[1...] + [0] : nil
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
