/// The date of capture as the file system keeps it: `2023-05-04T12:33:10`, with an offset or without. The
/// camera's clock is read as if it showed UTC, so that days are those of the photographer.
enum CaptureTime {
  static func seconds(_ text: [UInt8]) -> Int64? {
    let marks: [(Int, Character)] = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")]
    guard text.count >= 19, marks.allSatisfy({ text[$0.0] == $0.1.asciiValue }) else { return nil }
    let numbers = [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19].map { number(text[$0]) }
    guard let year = numbers[0], let month = numbers[1], let day = numbers[2],
      let hour = numbers[3], let minute = numbers[4], let second = numbers[5],
      (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61
    else { return nil }
    return days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    digits.allSatisfy { (48...57).contains($0) }
      ? digits.reduce(0) { $0 * 10 + Int64($1 - 48) } : nil
  }

  /// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let ofEra = shifted - era * 400
    let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }

  /// `4000x3000`, upright.
  static func dimensions(_ text: [UInt8]) -> (width: Int32, height: Int32)? {
    let parts = text.split(separator: UInt8(ascii: "x"), omittingEmptySubsequences: false)
    guard parts.count == 2, let width = number(parts[0]), let height = number(parts[1]),
      parts.allSatisfy({ (1...9).contains($0.count) }), width > 0, height > 0
    else { return nil }
    return (Int32(width), Int32(height))
  }
}
