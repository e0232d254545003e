/// When a picture was taken, as the clock of the camera showed it, and that clock's distance from UTC if
/// the picture states it.
///
/// Its text is `YYYY-MM-DDTHH:MM:SS`, with `+HH:MM` or `-HH:MM` behind it where the distance is known.
package struct CaptureTime: Hashable, Sendable, BitwiseCopyable {
  package let year: Int
  package let month: Int
  package let dayOfMonth: Int
  package let hour: Int
  package let minute: Int
  package let second: Int
  /// Minutes by which the clock was ahead of UTC; nil if unknown.
  package let offset: Int?

  /// Photography is not older, and a clock that shows more was not set.
  static let years = 1800...2999
  /// Less than a day, in minutes.
  static let offsets = -1439...1439

  /// nil for what no calendar and no clock shows.
  package init?(
    year: Int, month: Int, dayOfMonth: Int, hour: Int = 0, minute: Int = 0, second: Int = 0,
    offset: Int? = nil
  ) {
    guard CaptureTime.years ~= year, 1...12 ~= month,
      1...CaptureTime.days(in: month, of: year) ~= dayOfMonth, 0...23 ~= hour, 0...59 ~= minute,
      0...59 ~= second, offset.map({ CaptureTime.offsets ~= $0 }) ?? true
    else { return nil }
    (self.year, self.month, self.dayOfMonth) = (year, month, dayOfMonth)
    (self.hour, self.minute, self.second) = (hour, minute, second)
    self.offset = offset
  }

  /// Reads the text of a time; nil for anything else. `Z` stands for `+00:00`.
  package init?(_ text: [UInt8]) {
    guard let date = Digits(text.prefix(19), "0000-00-00T00:00:00") else { return nil }
    let zone = text.dropFirst(19)
    guard let offset = CaptureTime.offset(zone) else { return nil }
    self.init(date, offset: zone.isEmpty ? nil : offset)
  }

  /// `numbers` are year, month, day, hour, minute and second.
  package init?(_ numbers: Digits, offset: Int?) {
    let parts = numbers.numbers
    guard parts.count == 6 else { return nil }
    self.init(
      year: parts[0], month: parts[1], dayOfMonth: parts[2], hour: parts[3], minute: parts[4],
      second: parts[5], offset: offset)
  }

  /// Reads `+HH:MM`, `-HH:MM` or `Z`; 0 for no bytes, and nil for anything else.
  package static func offset(_ text: ArraySlice<UInt8>) -> Int? {
    if text.isEmpty || text.elementsEqual("Z".utf8) { return 0 }
    guard let parts = Digits(text.dropFirst(), "00:00")?.numbers, parts[0] < 24, parts[1] < 60
    else { return nil }
    switch text.first {
    case UInt8(ascii: "+"): return parts[0] * 60 + parts[1]
    case UInt8(ascii: "-"): return -parts[0] * 60 - parts[1]
    default: return nil
    }
  }

  /// `YYYY-MM-DD`
  package var day: String {
    "\(year)-\(CaptureTime.twoDigits(month))-\(CaptureTime.twoDigits(dayOfMonth))"
  }

  package var text: String {
    let clock = [hour, minute, second].map(CaptureTime.twoDigits).joined(separator: ":")
    guard let offset else { return "\(day)T\(clock)" }
    let zone = [abs(offset) / 60, abs(offset) % 60].map(CaptureTime.twoDigits)
    return "\(day)T\(clock)\(offset < 0 ? "-" : "+")\(zone.joined(separator: ":"))"
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }

  private static func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}

/// The numbers in a text of a fixed form.
package struct Digits {
  package private(set) var numbers: [Int] = []

  /// `form` has `0` where a digit stands, and every other character as it must be. nil if the text has
  /// another form.
  package init?(_ text: ArraySlice<UInt8>, _ form: StaticString) {
    let form = Array("\(form)".utf8)
    guard text.count == form.count else { return nil }
    var isInNumber = false
    for (byte, wanted) in zip(text, form) {
      if wanted != UInt8(ascii: "0") {
        guard byte == wanted else { return nil }
        isInNumber = false
        continue
      }
      guard 48...57 ~= byte else { return nil }
      if !isInNumber { numbers.append(0) }
      isInNumber = true
      numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(byte) - 48
    }
  }
}
