import AlbumModel

/// Days, months and years that a person looks for.
enum SearchDate: Equatable, Sendable {
  /// Seconds of the camera's clock since 1970.
  case range(Range<Int64>)
  /// In any year.
  case month(Int)
  case day(month: Int, day: Int)

  func contains(_ clockSeconds: Int64) -> Bool {
    switch self {
    case .range(let range): range.contains(clockSeconds)
    case .month(let month): SearchDate.date(clockSeconds).month == month
    case .day(let month, let day):
      SearchDate.date(clockSeconds).month == month && SearchDate.date(clockSeconds).day == day
    }
  }

  /// The month and day of a time; zeros for a year that photography does not have.
  private static func date(_ seconds: Int64) -> (month: Int, day: Int) {
    CaptureTime(seconds: Int(seconds)).map { ($0.month, $0.dayOfMonth) } ?? (0, 0)
  }

  // MARK: Reading

  /// `2019`, `2019-06`, `2019-06-05`, `5.6.2019`, `5.6.`, `06.2019`, and two of them with `..` between, or
  /// one with `..` before or behind it. Slashes and dots do as well as hyphens where the year comes first.
  init?(_ text: String) {
    if let span = SearchDate.span(text) {
      self = .range(span)
      return
    }
    guard let single = Calendar(text) else { return nil }
    self = single.date
  }

  private static func span(_ text: String) -> Range<Int64>? {
    guard let dots = text.firstRange(of: "..") else { return nil }
    let (from, to) = (text[..<dots.lowerBound], text[dots.upperBound...])
    let start = from.isEmpty ? Int64.min : Calendar(String(from))?.range?.lowerBound
    let end = to.isEmpty ? Int64.max : Calendar(String(to))?.range?.upperBound
    guard let start, let end, start < end, !(from.isEmpty && to.isEmpty) else { return nil }
    return start..<end
  }

  /// The parts of a date that a text states.
  private struct Calendar {
    var year: Int?
    var month: Int?
    var day: Int?

    init?(_ text: String) {
      let parts = text.split(
        omittingEmptySubsequences: false, whereSeparator: { "-./".contains($0) })
      let ends = parts.last?.isEmpty ?? false
      let numbers = parts.compactMap { $0.count <= 4 ? Int($0) : nil }
      guard numbers.count == parts.count - (ends ? 1 : 0), numbers.allSatisfy({ $0 > 0 }) else {
        return nil
      }
      let hasYearFirst = parts[0].count == 4
      switch (numbers.count, hasYearFirst, ends) {
      case (1, true, false): year = numbers[0]
      case (2, true, false): (year, month) = (numbers[0], numbers[1])
      case (3, true, false): (year, month, day) = (numbers[0], numbers[1], numbers[2])
      case (2, false, true) where text.hasSuffix("."): (day, month) = (numbers[0], numbers[1])
      case (2, false, false) where parts[1].count == 4: (month, year) = (numbers[0], numbers[1])
      case (3, false, false) where parts[2].count == 4 && text.contains("."):
        (day, month, year) = (numbers[0], numbers[1], numbers[2])
      default: return nil
      }
      let valid = CaptureTime(year: year ?? 2000, month: month ?? 1, dayOfMonth: day ?? 1)
      if valid == nil { return nil }
    }

    /// nil without a year.
    var range: Range<Int64>? {
      guard let year, let start = start(year, month ?? 1, day ?? 1) else { return nil }
      if day != nil { return start..<start + 86_400 }
      let next = month.map { $0 == 12 ? (year + 1, 1) : (year, $0 + 1) } ?? (year + 1, 1)
      return self.start(next.0, next.1, 1).map { start..<$0 }
    }

    private func start(_ year: Int, _ month: Int, _ day: Int) -> Int64? {
      CaptureTime(year: year, month: month, dayOfMonth: day)?.clockSeconds
    }

    var date: SearchDate {
      if let range { return .range(range) }
      let month = month ?? 1
      return day.map { .day(month: month, day: $0) } ?? .month(month)
    }
  }

  // MARK: Names of months

  private static let months: [(name: String, number: Int)] = [
    ("january", 1), ("januar", 1), ("janner", 1), ("february", 2), ("februar", 2), ("march", 3),
    ("marz", 3), ("maerz", 3), ("mrz", 3), ("april", 4), ("may", 5), ("mai", 5), ("june", 6),
    ("juni", 6), ("july", 7), ("juli", 7), ("august", 8), ("september", 9), ("october", 10),
    ("oktober", 10), ("november", 11), ("december", 12), ("dezember", 12),
  ]

  /// The month of a name, in English or German. Three letters of it are enough.
  static func month(_ text: String) -> Int? {
    let word = String(
      decoding: SearchText.words(Array(text.utf8)), as: UTF8.self)
    guard word.count >= 3, !word.contains(" ") else { return nil }
    return months.first { $0.name.hasPrefix(word) }?.number
  }

  /// The day of a month: `5`, `5.`, `5,`, `5th`.
  static func dayOfMonth(_ text: String) -> Int? {
    var digits = Substring(text)
    for ending in [".", ",", "st", "nd", "rd", "th"] where digits.hasSuffix(ending) {
      digits = digits.dropLast(ending.count)
      break
    }
    guard let day = Int(digits), 1...31 ~= day, digits.count <= 2 else { return nil }
    return day
  }
}
