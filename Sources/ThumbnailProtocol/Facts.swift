import AlbumModel

/// Facts in numbers: whatever a cell sends, the daemon gets dimensions and a date, or a malformed message.
///
///     offset  size
///          0     4  width of the upright picture in pixels; 0: unknown
///          4     4  height; 0 where the width is
///          8     2  year of capture; 0: unknown, and then the rest of the time is 0
///         10     5  month, day, hour, minute, second, one byte each
///         15     1  1: the distance from UTC is known; else 0
///         16     2  that distance in minutes, plus 1440; 0 where it is unknown
///         18     2  zero
///         20     4  duration of a video in milliseconds; 0: unknown
extension PictureFacts {
  static let byteCount = 24
  private static let offsetBase = 1440

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt32(dimensions?.width ?? 0))
    bytes.append(littleEndian: UInt32(dimensions?.height ?? 0))
    bytes.append(littleEndian: UInt16(taken?.year ?? 0))
    let parts = taken.map { [$0.month, $0.dayOfMonth, $0.hour, $0.minute, $0.second] }
    bytes += (parts ?? [0, 0, 0, 0, 0]).map { UInt8($0) }
    let offset = taken?.offset
    bytes.append(offset == nil ? 0 : 1)
    bytes.append(littleEndian: offset.map { UInt16($0 + PictureFacts.offsetBase) } ?? 0)
    bytes += [0, 0]
    bytes.append(littleEndian: UInt32(duration?.milliseconds ?? 0))
    return bytes
  }

  /// Decodes the facts before a thumbnail.
  static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> PictureFacts {
    try bytes.requireZero(18..<20)
    var facts = PictureFacts()
    facts.duration = VideoDuration(milliseconds: Int(try bytes.number(UInt32.self, at: 20)))
    let width = Int(try bytes.number(UInt32.self, at: 0))
    let height = Int(try bytes.number(UInt32.self, at: 4))
    if width != 0 || height != 0 {
      guard let known = PictureDimensions(width: width, height: height) else { throw .outOfRange }
      facts.dimensions = known
    }
    let year = Int(try bytes.number(UInt16.self, at: 8))
    if year == 0 {
      try bytes.requireZero(10..<18)
      return facts
    }
    let offset = Int(try bytes.number(UInt16.self, at: 16))
    guard bytes[15] == (offset == 0 ? 0 : 1),
      let taken = CaptureTime(
        year: year, month: Int(bytes[10]), dayOfMonth: Int(bytes[11]), hour: Int(bytes[12]),
        minute: Int(bytes[13]), second: Int(bytes[14]),
        offset: offset == 0 ? nil : offset - offsetBase)
    else { throw .outOfRange }
    facts.taken = taken
    return facts
  }
}
