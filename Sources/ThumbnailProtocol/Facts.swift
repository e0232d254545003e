import AlbumModel

/// Facts in numbers and two short lines: whatever a cell sends, the daemon gets dimensions, a date and names
/// of visible characters, or a malformed message.
///
///     offset  size
///          0     4  width of the upright picture in pixels; 0: unknown
///          4     4  height; 0 where the width is
///          8     2  year of capture; 0: unknown, and then the rest of the time is 0
///         10     5  month, day, hour, minute, second, one byte each
///         15     1  1: the distance from UTC is known; else 0
///         16     2  that distance in minutes, plus 1440; 0 where it is unknown
///         18     1  bytes of the camera's name; 0: unknown
///         19     1  bytes of the lens's name; 0: unknown
///         20     4  duration of a video in milliseconds; 0: unknown
///         24    16  the perceptual hash: its rows and its columns; 0: unknown
///         40     4  latitude of the place in millionths of a degree from -90 degrees on, plus 1; 0: unknown
///         44     4  longitude in millionths of a degree from -180 degrees on; 0 where the place is unknown
///         48        the two names in UTF-8
extension PictureFacts {
  /// Of the part before the names.
  static let headByteCount = 48
  static let byteCounts = headByteCount...headByteCount + 2 * CameraName.lengths.upperBound
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
    let names = [camera, lens].map { Array(($0?.text ?? "").utf8) }
    bytes += names.map { UInt8($0.count) }
    bytes.append(littleEndian: UInt32(duration?.milliseconds ?? 0))
    bytes.append(littleEndian: hash?.rows ?? 0)
    bytes.append(littleEndian: hash?.columns ?? 0)
    let place = place?.millionths
    bytes.append(littleEndian: place.map { UInt32($0.latitude + 1) } ?? 0)
    bytes.append(littleEndian: place.map { UInt32($0.longitude) } ?? 0)
    return bytes + names.joined()
  }

  /// Decodes the facts before a thumbnail, and returns them with their number of bytes.
  static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> (PictureFacts, Int) {
    var facts = try numbers(bytes)
    let (camera, lens) = (
      headByteCount + Int(bytes[18]), headByteCount + Int(bytes[18]) + Int(bytes[19])
    )
    guard lens < bytes.count else { throw .outOfRange }
    facts.camera = try name(bytes[headByteCount..<camera])
    facts.lens = try name(bytes[camera..<lens])
    return (facts, lens)
  }

  private static func place(_ bytes: [UInt8]) throws(MalformedMessage) -> GeographicPlace? {
    let latitude = Int(try bytes.number(UInt32.self, at: 40))
    if latitude == 0 {
      try bytes.requireZero(44..<48)
      return nil
    }
    let longitude = Int(try bytes.number(UInt32.self, at: 44))
    guard
      let place = GeographicPlace(
        latitudeMillionths: latitude - 1, longitudeMillionths: longitude)
    else { throw .outOfRange }
    return place
  }

  private static func name(_ bytes: ArraySlice<UInt8>) throws(MalformedMessage) -> CameraName? {
    if bytes.isEmpty { return nil }
    guard let name = CameraName(Array(bytes)) else { throw .outOfRange }
    return name
  }

  private static func numbers(_ bytes: [UInt8]) throws(MalformedMessage) -> PictureFacts {
    var facts = PictureFacts()
    facts.duration = VideoDuration(milliseconds: Int(try bytes.number(UInt32.self, at: 20)))
    facts.hash = PictureHash(
      rows: try bytes.number(UInt64.self, at: 24), columns: try bytes.number(UInt64.self, at: 32))
    facts.place = try place(bytes)
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
