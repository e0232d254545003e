package import AlbumModel
import FileKinds

/// Finds when a picture or a film was taken.
///
/// It looks for EXIF's DateTimeOriginal, then DateTimeDigitized; then XMP's exif:DateTimeOriginal,
/// photoshop:DateCreated and xmp:CreateDate; in the containers of JPEG, PNG, WebP, GIF, TIFF, PSD, HEIC,
/// AVIF, JPEG XL, JPEG 2000, of raw pictures, and of MOV, MP4, M4V and 3GP. In the latter it looks at last
/// for the film's own date, as in AVI, MKV and WebM.
///
/// Never trusts the file: reads at most `readLimit` pieces of bounded size.
package enum CaptureDate {
  private static let readLimit = 500

  /// Reads bytes of a picture: a number of bytes at an offset. Returns fewer where the file ends, and nil if
  /// it cannot be read.
  package typealias Read = (_ count: Int, _ offset: Int64) -> [UInt8]?

  /// nil if the file does not state it.
  package static func find(size: Int64, _ read: Read) -> CaptureTime? {
    var readsLeft = CaptureDate.readLimit
    return search(
      size: size,
      { (count: Int, offset: Int64) -> [UInt8]? in
        readsLeft -= 1
        return readsLeft < 0 ? nil : read(count, offset)
      })
  }

  private static func search(size: Int64, _ read: Read) -> CaptureTime? {
    guard size >= 0, let head = read(12, 0), head.count == 12 else { return nil }
    let blocks = MetadataBlocks.find(head, size: size, read)
    for block in blocks.exif {
      if let found = ExifBlock.date(in: block, read) { return found }
    }
    for data in blocks.decodedExif {
      let found = ExifBlock.date(in: 0..<Int64(data.count)) { data.span.part($0, at: $1) }
      if let found { return found }
    }
    for block in blocks.xmp {
      let length = min(block.upperBound - block.lowerBound, XMPPacket.limit)
      if let packet = read(Int(length), block.lowerBound), let found = XMPPacket.date(in: packet) {
        return found
      }
    }
    if let movie = blocks.movie { return MovieDate.date(in: movie, read) }
    return switch ImageKind(sniffing: head) {
    case .avi: AVIDate.date(size: size, read)
    case .matroska: MatroskaDate.date(size: size, read)
    default: nil
    }
  }

  /// Does the same for a picture in memory.
  package static func find(in picture: Span<UInt8>) -> CaptureTime? {
    find(size: Int64(picture.count)) { picture.part($0, at: $1) }
  }
}

extension Span<UInt8> {
  /// Reads a picture in memory as `CaptureDate.Read` does.
  func part(_ count: Int, at offset: Int64) -> [UInt8]? {
    guard count >= 0, offset >= 0, offset <= self.count else { return nil }
    let start = Int(offset)
    return (start..<start + Swift.min(count, self.count - start)).map { self[$0] }
  }
}

extension CaptureTime {
  /// Reads EXIF's `YYYY:MM:DD HH:MM:SS`, with midnight for a time that no clock shows. Cameras whose clock
  /// was never set write zeros or blanks.
  init?(exif text: [UInt8], offset: [UInt8]?) {
    let zone = offset.flatMap { $0.isEmpty ? nil : CaptureTime.offset($0[...]) }
    if let numbers = Digits(text.prefix(19), "0000:00:00 00:00:00"),
      let time = CaptureTime(numbers, offset: zone)
    {
      self = time
      return
    }
    guard let day = Digits(text.prefix(10), "0000:00:00")?.numbers else { return nil }
    self.init(year: day[0], month: day[1], dayOfMonth: day[2])
  }

  /// Reads XMP's date (ISO 8601): a day, with or without a time, seconds, a fraction and a distance from UTC.
  init?(xmp text: [UInt8]) {
    guard let day = Digits(text.prefix(10), "0000-00-00")?.numbers else { return nil }
    var clock = [0, 0, 0]
    var rest = text.dropFirst(10)
    if let minutes = Digits(rest.prefix(6), "T00:00")?.numbers {
      clock = minutes + [0]
      rest = rest.dropFirst(6)
      if let seconds = Digits(rest.prefix(3), ":00")?.numbers {
        clock[2] = seconds[0]
        rest = rest.dropFirst(3)
        if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop { 48...57 ~= $0 } }
      }
    }
    let zone = rest.isEmpty ? nil : CaptureTime.offset(rest)
    if !rest.isEmpty, zone == nil { return nil }
    self.init(
      year: day[0], month: day[1], dayOfMonth: day[2], hour: clock[0], minute: clock[1],
      second: clock[2], offset: zone)
  }
}
