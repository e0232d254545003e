package import AlbumModel

/// Finds the date in the name of a file, as phones, messengers and programs for screenshots write it. For a
/// file whose content states none.
///
/// A date that no calendar has never counts, and neither does a time that no clock shows.
package enum NamedDate {
  /// A form that names have. `YMDhms` stand for digits of the year, month, day, hour, minute and second; `-`
  /// for one of `-._`; `?` for at most one of `-_ T`; `:` for one of `-._:`; `~` for up to 14 bytes without a
  /// digit. Any other character stands for itself.
  private struct Form {
    let text: [UInt8]
    /// True if the name must begin so.
    let isAtStart: Bool
    let years: ClosedRange<Int>

    init(_ text: StaticString, isAtStart: Bool = false, years: ClosedRange<Int> = 1970...2099) {
      (self.text, self.isAtStart, self.years) = (Array("\(text)".utf8), isAtStart, years)
    }
  }

  /// Numbers without marks between them could be something else, so their years are those of phones.
  private static let written = 1800...2099

  private static let forms = [
    // IMG_20190505_121314.jpg, PXL_20190505_121314123.jpg, Screenshot_20190505-121314.png,
    // 20190505_121314.jpg, IMG20190505121314.jpg, VID_20190505_121314.mp4
    Form("YYYYMMDD?hhmmss"),
    // WP_20190505_12_13_14_Pro.jpg
    Form("YYYYMMDD-hh-mm-ss"),
    // Screenshot_2019-05-05-12-13-14.png, Screenshot 2019-05-05 at 12.13.14.png,
    // photo_2019-05-05_12-13-14.jpg, 2019-05-05 12.13.14.jpg, signal-2019-05-05-12-13-14-123.jpg,
    // WhatsApp Image 2019-05-05 at 12.13.14.jpeg
    Form("YYYY-MM-DD~hh:mm:ss", years: written),
    // signal-2019-05-05-121314.jpg, Screenshot 2019-05-05 121314.png
    Form("YYYY-MM-DD~hhmmss", years: written),
    // IMG-20190505-WA0001.jpg
    Form("YYYYMMDD-WA"),
    // WP_20190505_001.jpg
    Form("WP_YYYYMMDD", isAtStart: true),
    // 2019-05-05 Garden.jpg, Wedding 1968-07-04.tif
    Form("YYYY-MM-DD", years: written),
    // 20190505_garden.jpg
    Form("YYYYMMDD", isAtStart: true),
  ]

  /// Names with milliseconds since 1970 behind these words: Facebook's and WeChat's.
  private static let countingWords = ["FB_IMG_", "mmexport"].map { Array($0.utf8) }
  /// Google's Pixel phones write the time in UTC.
  private static let worldWord = Array("PXL_".utf8)

  /// nil if the name has no date. A time with the offset 0 is in UTC.
  package static func find(in name: [UInt8]) -> CaptureTime? {
    if let counted = counted(name) { return counted }
    let isWorldTime = name.starts(with: worldWord)
    for form in forms {
      for start in form.isAtStart ? 0..<min(1, name.count) : name.indices {
        if let time = time(name, start, form, isWorldTime) { return time }
      }
    }
    return nil
  }

  private static func counted(_ name: [UInt8]) -> CaptureTime? {
    for word in countingWords where name.starts(with: word) {
      let digits = name.dropFirst(word.count).prefix { isDigit($0) }
      guard digits.count == 13 else { continue }
      return CaptureTime(seconds: digits.prefix(10).reduce(0) { $0 * 10 + Int($1) - 48 })
    }
    return nil
  }

  private static func time(
    _ name: [UInt8], _ start: Int, _ form: Form, _ isWorldTime: Bool
  ) -> CaptureTime? {
    if start > 0, isDigit(name[start - 1]) { return nil }
    guard let (numbers, end) = match(name[start...], form.text) else { return nil }
    let rest = name[end...]
    let hasClock = numbers[UInt8(ascii: "s")] != nil
    // Some write milliseconds behind the seconds. A longer number is something else.
    let digits = isDigit(name[end - 1]) ? rest.prefix(while: isDigit).count : 0
    if digits > (hasClock ? 3 : 0) { return nil }
    func number(_ letter: Unicode.Scalar) -> Int { numbers[UInt8(ascii: letter)] ?? 0 }
    guard form.years.contains(number("Y")), let hour = hour(number("h"), rest) else { return nil }
    return CaptureTime(
      year: number("Y"), month: number("M"), dayOfMonth: number("D"), hour: hour,
      minute: number("m"), second: number("s"), offset: isWorldTime && hasClock ? 0 : nil)
  }

  /// Follows `12.13.14 PM`, as macOS writes in some languages. nil for an hour that no such clock shows.
  private static func hour(_ hour: Int, _ rest: ArraySlice<UInt8>) -> Int? {
    let blanks: [[UInt8]] = [[0x20], [0xC2, 0xA0], [0xE2, 0x80, 0xAF]]
    let blank = blanks.first { rest.starts(with: $0) }?.count ?? 0
    let word = rest.dropFirst(blank).prefix { isLetter($0) }.map { $0 | 0x20 }
    let isAfternoon = word.elementsEqual("pm".utf8)
    guard isAfternoon || word.elementsEqual("am".utf8) else { return hour }
    return 1...12 ~= hour ? hour % 12 + (isAfternoon ? 12 : 0) : nil
  }

  /// The numbers by their letters, and the place behind what has the form.
  private static func match(
    _ text: ArraySlice<UInt8>, _ form: [UInt8]
  ) -> (numbers: [UInt8: Int], end: Int)? {
    var numbers: [UInt8: Int] = [:]
    var rest = text
    for wanted in form {
      switch wanted {
      case UInt8(ascii: "Y"), UInt8(ascii: "M"), UInt8(ascii: "D"), UInt8(ascii: "h"),
        UInt8(ascii: "m"), UInt8(ascii: "s"):
        guard let digit = rest.first, isDigit(digit) else { return nil }
        numbers[wanted] = (numbers[wanted] ?? 0) * 10 + Int(digit) - 48
        rest = rest.dropFirst()
      case UInt8(ascii: "~"):
        let between = rest.prefix { !isDigit($0) }.count
        guard 1...14 ~= between else { return nil }
        rest = rest.dropFirst(between)
      case UInt8(ascii: "?"):
        if let first = rest.first, "-_ T".utf8.contains(first) { rest = rest.dropFirst() }
      default:
        guard let first = rest.first, accepts(first, wanted) else { return nil }
        rest = rest.dropFirst()
      }
    }
    return (numbers, rest.startIndex)
  }

  private static func accepts(_ byte: UInt8, _ wanted: UInt8) -> Bool {
    switch wanted {
    case UInt8(ascii: "-"): "-._".utf8.contains(byte)
    case UInt8(ascii: ":"): "-._:".utf8.contains(byte)
    default: byte == wanted
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { 48...57 ~= byte }

  private static func isLetter(_ byte: UInt8) -> Bool { 65...90 ~= byte & 0xDF }
}
