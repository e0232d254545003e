/// Strips a JPEG (ITU T.81, annex B): of the application segments only those stay that the colours depend on.
/// What follows the picture goes: further pictures (MPF, gain maps), films, and what makers append.
enum StrippedJPEG {
  static func plan(
    _ file: inout FileWindow, _ orientation: Int
  ) throws(StrippedPicture.Fault) -> StrippedPicture {
    var result = StrippedPicture()
    try result.keep(0..<2)
    var offset: Int64 = 2
    var exif: [UInt8] = orientation > 1 ? segment(orientation) : []
    var hasPixels = false
    while true {
      let mark = try marker(&file, &offset)
      // JFIF's segment must be the first.
      if mark != 0xE0, !exif.isEmpty {
        try result.insert(exif)
        exif = []
      }
      if mark == 0xD9 {
        if !hasPixels { throw .damaged }
        try result.keep(offset..<offset + 2)
        return result
      }
      let end = offset + 2 + (try file.number(2, at: offset + 2))
      if end < offset + 4 || end > file.size { throw .damaged }
      switch mark {
      case 0xE0: try addJFIF(&file, offset..<end, &result)
      case 0xE2 where try begins(&file, offset, end, "ICC_PROFILE\0"): try result.keep(offset..<end)
      case 0xEE where try begins(&file, offset, end, "Adobe"): try result.keep(offset..<end)
      case 0xE1...0xEF, 0xFE: break
      case 0xDA:
        hasPixels = true
        let next = try endOfScan(&file, from: end)
        try result.keep(offset..<next)
        offset = next
        continue
      case 0xC0...0xCF, 0xDB...0xDF: try result.keep(offset..<end)
      default: throw .damaged
      }
      offset = end
    }
  }

  /// Moves to the last of the bytes 0xFF that begin a marker, and returns its second byte.
  private static func marker(
    _ file: inout FileWindow, _ offset: inout Int64
  ) throws(StrippedPicture.Fault) -> UInt8 {
    while true {
      let bytes = try file.bytes(2, at: offset)
      if bytes[0] != 0xFF { throw .damaged }
      if bytes[1] != 0xFF { return bytes[1] }
      offset += 1
    }
  }

  private static func begins(
    _ file: inout FileWindow, _ offset: Int64, _ end: Int64, _ name: String
  ) throws(StrippedPicture.Fault) -> Bool {
    let length = name.utf8.count
    guard end - offset - 4 >= Int64(length) else { return false }
    return try file.bytes(length, at: offset + 4).elementsEqual(name.utf8)
  }

  /// JFIF's segment without its thumbnail: version, unit and density stay.
  private static func addJFIF(
    _ file: inout FileWindow, _ part: Range<Int64>, _ result: inout StrippedPicture
  ) throws(StrippedPicture.Fault) {
    guard part.upperBound - part.lowerBound >= 18,
      try begins(&file, part.lowerBound, part.upperBound, "JFIF\0")
    else { return }
    let fields = try file.bytes(7, at: part.lowerBound + 9)
    try result.insert([0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8) + fields + [0, 0])
  }

  /// The entropy-coded data of a scan end at the first marker that is neither a stuffed byte nor a restart.
  private static func endOfScan(
    _ file: inout FileWindow, from start: Int64
  ) throws(StrippedPicture.Fault) -> Int64 {
    var offset = start
    while let mark = try file.nextMark(from: offset) {
      let next = try file.bytes(2, at: mark)[1]
      if next == 0xFF {
        offset = mark + 1
      } else if next == 0 || 0xD0...0xD7 ~= next {
        offset = mark + 2
      } else {
        return mark
      }
    }
    throw .damaged
  }

  private static func segment(_ orientation: Int) -> [UInt8] {
    let content = Array("Exif\0\0".utf8) + StrippedPicture.exif(orientation: orientation)
    return [0xFF, 0xE1, 0, UInt8(content.count + 2)] + content
  }
}
