import AlbumModel

/// Finds when an AVI was taken: its chunk `IDIT`, or `ICRD` among its texts (Microsoft, "Multimedia
/// Programming Interface and Data Specifications").
enum AVIDate {
  private static let chunkLimit = 100
  private static let textLimit: Int64 = 64
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ].map { Array($0.utf8) }

  static func date(size: Int64, _ read: CaptureDate.Read) -> CaptureTime? {
    date(in: 12..<size, isInList: false, read)
  }

  /// Looks at the chunks of one level, and at those of the lists `hdrl` and `INFO`.
  private static func date(
    in part: Range<Int64>, isInList: Bool, _ read: CaptureDate.Read
  ) -> CaptureTime? {
    var place = part.lowerBound
    for _ in 0..<chunkLimit {
      guard place < part.upperBound, let head = read(12, place), head.count >= 8 else { break }
      let length = Int64(Numbers(isBigEndian: false).value(head[4..<8]))
      let content = place + 8..<min(place + 8 + length, part.upperBound)
      if content.lowerBound > content.upperBound { break }
      if let found = date(of: head, content, isInList, read) { return found }
      place += 8 + length + length % 2
    }
    return nil
  }

  private static func date(
    of head: [UInt8], _ content: Range<Int64>, _ isInList: Bool, _ read: CaptureDate.Read
  ) -> CaptureTime? {
    let type = head[0..<4]
    if type.elementsEqual("LIST".utf8), !isInList, content.count > 4 {
      let list = head[8...]
      guard list.elementsEqual("hdrl".utf8) || list.elementsEqual("INFO".utf8) else { return nil }
      return date(in: content.lowerBound + 4..<content.upperBound, isInList: true, read)
    }
    guard type.elementsEqual("IDIT".utf8) || type.elementsEqual("ICRD".utf8) else { return nil }
    let length = min(Int64(content.count), textLimit)
    return read(Int(length), content.lowerBound).flatMap { time($0) }
  }

  /// Cameras write `2005:08:17 11:42:43`, `2005/08/17/ 11:42`, `2005-08-17`, or `Wed Aug 17 11:42:43 2005`.
  private static func time(_ text: [UInt8]) -> CaptureTime? {
    let words = text.prefix { $0 != 0 }.split { [10, 13, 32].contains($0) }
    guard let first = words.first else { return nil }
    if words.count == 5 { return time(inWords: words) }
    let day =
      Digits(first.prefix(10), "0000:00:00") ?? Digits(first.prefix(10), "0000-00-00")
      ?? Digits(first.prefix(10), "0000/00/00")
    guard let day = day?.numbers else { return nil }
    let clock = words.count > 1 ? self.clock(words[1]) : [0, 0, 0]
    return CaptureTime(
      year: day[0], month: day[1], dayOfMonth: day[2], hour: clock[0], minute: clock[1],
      second: clock[2])
  }

  private static func time(inWords words: [ArraySlice<UInt8>]) -> CaptureTime? {
    guard let month = months.firstIndex(where: { words[1].elementsEqual($0) }),
      let day = Digits(words[2], "00") ?? Digits(words[2], "0"),
      let year = Digits(words[4], "0000")
    else { return nil }
    let clock = self.clock(words[3])
    return CaptureTime(
      year: year.numbers[0], month: month + 1, dayOfMonth: day.numbers[0], hour: clock[0],
      minute: clock[1], second: clock[2])
  }

  private static func clock(_ text: ArraySlice<UInt8>) -> [Int] {
    if let whole = Digits(text.prefix(8), "00:00:00") { return whole.numbers }
    return (Digits(text.prefix(5), "00:00")?.numbers ?? [0, 0]) + [0]
  }
}

/// Finds when a Matroska or WebM was taken: the element `DateUTC` (RFC 9559, section 5.1.2.11).
enum MatroskaDate {
  private static let elementLimit = 50
  /// Identifiers with the bits that tell their length.
  private static let segment: UInt64 = 0x1853_8067
  private static let info: UInt64 = 0x1549_A966
  private static let dateUTC: UInt64 = 0x4461
  private static let secondsTo2001 = 978_307_200

  static func date(size: Int64, _ read: CaptureDate.Read) -> CaptureTime? {
    guard let segment = find(segment, in: 0..<size, read),
      let info = find(info, in: segment, read), let date = find(dateUTC, in: info, read),
      date.count == 8, let bytes = read(8, date.lowerBound), bytes.count == 8
    else { return nil }
    let nanoseconds = Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    let seconds = Int(nanoseconds / 1_000_000_000) + secondsTo2001
    return seconds > 0 ? CaptureTime(seconds: seconds) : nil
  }

  /// The content of the first element with an identifier.
  private static func find(
    _ wanted: UInt64, in part: Range<Int64>, _ read: CaptureDate.Read
  ) -> Range<Int64>? {
    var place = part.lowerBound
    for _ in 0..<elementLimit {
      guard place < part.upperBound, let head = read(12, place),
        let identifier = number(head[...], keepsMark: true),
        let length = number(head.dropFirst(identifier.byteCount), keepsMark: false)
      else { return nil }
      let start = place + Int64(identifier.byteCount + length.byteCount)
      // All bits set: as long as the file.
      let isOpen = length.value == (1 << UInt64(7 * length.byteCount)) - 1
      let rest = part.upperBound - start
      if rest < 0 { return nil }
      let count = isOpen ? rest : min(rest, Int64(clamping: length.value))
      if identifier.value == wanted { return start..<start + count }
      place = start + count
    }
    return nil
  }

  /// A number of up to 8 bytes, whose leading zeros tell how many.
  private static func number(
    _ bytes: ArraySlice<UInt8>, keepsMark: Bool
  ) -> (value: UInt64, byteCount: Int)? {
    guard let first = bytes.first, first > 0 else { return nil }
    let count = first.leadingZeroBitCount + 1
    if bytes.count < count { return nil }
    let value = bytes.prefix(count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return (keepsMark ? value : value & ((1 << UInt64(7 * count)) - 1), count)
  }
}
