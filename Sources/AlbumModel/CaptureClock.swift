extension CaptureTime {
  /// Seconds from 1970-01-01 00:00 to this time, both as the camera's clock showed them.
  package var clockSeconds: Int64 {
    let days = CaptureTime.days(Int64(year), Int64(month), Int64(dayOfMonth))
    return days * 86_400 + Int64(hour * 3600 + minute * 60 + second)
  }

  /// The same date and time of a clock that was `offset` minutes ahead of UTC.
  package func with(offset: Int?) -> CaptureTime {
    CaptureTime(
      year: year, month: month, dayOfMonth: dayOfMonth, hour: hour, minute: minute, second: second,
      offset: offset) ?? self
  }

  /// A time in UTC, in seconds since 1970. nil for a year that photography does not have.
  package init?(seconds: Int) {
    // The offset of a clock may lead to the last days of 1969.
    let daysSince1970 = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
    let clock = seconds - daysSince1970 * 86_400
    // Years that begin in March, in cycles of 400 years: the leap day is the last of its year.
    let days = daysSince1970 + 719_468
    guard days >= 0 else { return nil }
    let (cycle, day) = (days / 146_097, days % 146_097)
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365
    let dayOfYear = day - (365 * year + year / 4 - year / 100)
    let month = (5 * dayOfYear + 2) / 153
    self.init(
      year: year + cycle * 400 + (month < 10 ? 0 : 1), month: month < 10 ? month + 3 : month - 9,
      dayOfMonth: dayOfYear - (153 * month + 2) / 5 + 1, hour: clock / 3600,
      minute: clock % 3600 / 60, second: clock % 60, offset: 0)
  }

  /// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let ofEra = shifted - era * 400
    let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
  }
}
