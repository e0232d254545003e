import AlbumModel

/// The facts of a photo that the file system keeps as text, as the numbers of a listing.
enum KeptFacts {
  /// The date of capture in seconds since 1970. The camera's clock is read as if it showed UTC, so that days
  /// are those of the photographer.
  static func taken(_ text: [UInt8]) -> Int64? {
    guard let time = CaptureTime(text) else { return nil }
    let day = days(Int64(time.year), Int64(time.month), Int64(time.dayOfMonth))
    return day * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
  }

  static func dimensions(_ text: [UInt8]) -> (width: Int32, height: Int32)? {
    PictureDimensions(text).map { (Int32($0.width), Int32($0.height)) }
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
