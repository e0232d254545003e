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
    var (hasFormat, hasProfile) = (false, false)
    var picture = JPEGStructure()
    while true {
      let mark = try marker(&file, &offset)
      // JFIF's segment must be the first.
      if mark != 0xE0, !exif.isEmpty {
        try result.insert(exif)
        exif = []
      }
      if mark == 0xD9 {
        if !picture.hasScans { throw .damaged }
        try result.keep(offset..<offset + 2)
        return result
      }
      let end = offset + 2 + (try file.number(2, at: offset + 2))
      if end < offset + 4 || end > file.size { throw .damaged }
      switch mark {
      case 0xE0:
        if !hasFormat, let format = try format(&file, offset..<end) {
          try result.insert(format)
          hasFormat = true
        }
      case 0xE2 where try begins(&file, offset, end, profileName):
        if !hasProfile { try addProfile(&file, from: offset, &result) }
        hasProfile = true
      case 0xE1...0xED, 0xEF, 0xFE: break
      default:
        let content = try file.bytes(Int(end - offset) - 4, at: offset + 4)
        try result.insert(picture.take(mark, content))
        if mark == 0xDA {
          let next = try endOfScan(&file, from: end)
          try result.keep(end..<next)
          offset = next
          continue
        }
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

  /// JFIF's segment without its thumbnail: unit and density stay.
  private static func format(
    _ file: inout FileWindow, _ part: Range<Int64>
  ) throws(StrippedPicture.Fault) -> [UInt8]? {
    guard part.upperBound - part.lowerBound >= 18,
      try begins(&file, part.lowerBound, part.upperBound, "JFIF\0")
    else { return nil }
    let density = try file.bytes(5, at: part.lowerBound + 11)
    if density[0] > 2 { return nil }
    return [0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8) + [1, 1] + density + [0, 0]
  }

  private static let profileName = "ICC_PROFILE\0"

  /// The colour profile, whose parts lie in segments with their number and how many there are. `start`: the
  /// first of these segments. A profile that is not whole counts as none, as it does for decoders.
  private static func addProfile(
    _ file: inout FileWindow, from start: Int64, _ result: inout StrippedPicture
  ) throws(StrippedPicture.Fault) {
    var (parts, offset, size) = ([UInt8: [UInt8]](), start, Int64(0))
    while true {
      let mark = try marker(&file, &offset)
      if mark == 0xDA || mark == 0xD9 { break }
      let end = offset + 2 + (try file.number(2, at: offset + 2))
      if end < offset + 4 || end > file.size { throw .damaged }
      if mark == 0xE2, end - offset > 18, try begins(&file, offset, end, profileName) {
        size += end - offset
        if size > ColourProfile.limit { throw .damaged }
        let part = try file.bytes(Int(end - offset - 16), at: offset + 16)
        parts[part[0]] = Array(part.dropFirst(2))
      }
      offset = end
    }
    let whole = parts.sorted { $0.key < $1.key }
    guard whole.enumerated().allSatisfy({ $0.offset + 1 == Int($0.element.key) }),
      let profile = ColourProfile.stripped(whole.flatMap(\.value))
    else { return }
    var place = 0
    for (number, part) in whole {
      try result.insert(
        JPEGStructure.segment(
          0xE2,
          Array(profileName.utf8) + [number, UInt8(whole.count)]
            + profile[place..<place + part.count]))
      place += part.count
    }
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
    JPEGStructure.segment(
      0xE1, Array("Exif\0\0".utf8) + StrippedPicture.exif(orientation: orientation))
  }
}
