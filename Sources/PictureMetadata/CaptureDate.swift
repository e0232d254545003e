/// When a picture was taken, as the clock of the camera showed it: there is no time zone.
package struct CaptureDate: Equatable, Sendable {
  package let year: Int
  package let month: Int
  let dayOfMonth: Int

  /// `YYYY-MM-DD`
  package var day: String {
    "\(year)-\(CaptureDate.twoDigits(month))-\(CaptureDate.twoDigits(dayOfMonth))"
  }

  /// Reads bytes of a picture: a number of bytes at an offset. Returns fewer where the file ends, and nil if
  /// it cannot be read.
  package typealias Read = (_ count: Int, _ offset: Int64) -> [UInt8]?

  /// The date in the EXIF data of a JPEG, a TIFF, a raw picture that is a TIFF, a HEIC or an AVIF; nil if
  /// there is none. Never trusts the picture: reads at most some hundred pieces of bounded size.
  package static func find(size: Int64, _ read: Read) -> CaptureDate? {
    guard let head = read(12, 0), head.count == 12 else { return nil }
    if head.starts(with: [0xFF, 0xD8, 0xFF]) {
      return JPEGSegments.exif(size: size, read).flatMap { ExifBlock.date(in: $0, read) }
    }
    if head[4...].starts(with: "ftyp".utf8) {
      return ItemBoxes.exif(size: size, read).flatMap { ExifBlock.date(in: $0, read) }
    }
    return ExifBlock.date(in: 0..<size, read)
  }

  /// Reads `YYYY:MM:DD HH:MM:SS`. Cameras whose clock was never set write zeros or blanks.
  init?(exif text: [UInt8]) {
    let colon = UInt8(ascii: ":")
    guard text.count >= 10, text[4] == colon, text[7] == colon,
      let year = CaptureDate.number(text[..<4]), let month = CaptureDate.number(text[5..<7]),
      let day = CaptureDate.number(text[8..<10])
    else { return nil }
    guard 1800...2999 ~= year, 1...12 ~= month, 1...31 ~= day else { return nil }
    (self.year, self.month, dayOfMonth) = (year, month, day)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    var number = 0
    for digit in digits {
      guard 48...57 ~= digit else { return nil }
      number = number * 10 + Int(digit) - 48
    }
    return number
  }

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
