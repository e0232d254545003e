import AlbumModel

/// Finds when a film was taken in its box `moov` (ISO 14496-12, section 8.2; Apple, "QuickTime File Format").
///
/// The item `com.apple.quicktime.creationdate` states the local time and its distance from UTC. It lies in a
/// box `meta`, which FFmpeg puts into a box `udta`. The head `mvhd` states a time in UTC, or 0.
enum MovieDate {
  private static let itemName = "com.apple.quicktime.creationdate"
  /// Bytes of a date, and of other short texts.
  private static let textLimit = 100

  static func date(in movie: Range<Int64>, _ read: CaptureDate.Read) -> CaptureTime? {
    if let time = text(of: itemName, in: movie, read).flatMap({ CaptureTime(movie: $0) }) {
      return time
    }
    let boxes = BoxedMetadata.boxes(in: movie, read)
    return content("mvhd", of: boxes).flatMap { created(in: $0, read) }
  }

  /// A short text that the film states under a name; nil if it does not.
  static func text(
    of name: String, in movie: Range<Int64>, _ read: CaptureDate.Read
  ) -> [UInt8]? {
    let boxes = BoxedMetadata.boxes(in: movie, read)
    let ofUser = content("udta", of: boxes).map { BoxedMetadata.boxes(in: $0, read) } ?? []
    let metas = [boxes, ofUser].compactMap { content("meta", of: $0) }
    for meta in metas {
      if let text = text(of: Array(name.utf8), inItems: meta, read) { return text }
    }
    return nil
  }

  private static func content(_ type: String, of boxes: [BoxedMetadata.Box]) -> Range<Int64>? {
    boxes.first { $0.type.elementsEqual(type.utf8) }?.content
  }

  /// `mvhd`: version, 3 bytes of flags, and the time of creation in 4 bytes (version 1: 8).
  private static func created(in head: Range<Int64>, _ read: CaptureDate.Read) -> CaptureTime? {
    guard head.upperBound - head.lowerBound >= 12, let bytes = read(12, head.lowerBound),
      bytes.count == 12
    else { return nil }
    let numbers = Numbers(isBigEndian: true)
    if bytes[0] == 1, numbers.value(bytes[4..<8]) > 1 << 8 { return nil }
    let seconds =
      bytes[0] == 1
      ? numbers.value(bytes[4..<8]) << 32 | numbers.value(bytes[8..<12])
      : numbers.value(bytes[4..<8])
    if seconds == 0 { return nil }
    // Some cameras count from 1970.
    return CaptureTime(seconds: seconds >= secondsTo1970 ? seconds - secondsTo1970 : seconds)
  }

  /// From 1904, where these times begin.
  private static let secondsTo1970 = 2_082_844_800

  /// `meta`: a box `keys` with the names of items, and a box `ilst` with boxes `data`, whose types are the
  /// numbers of those names, from 1 on.
  private static func text(
    of name: [UInt8], inItems meta: Range<Int64>, _ read: CaptureDate.Read
  ) -> [UInt8]? {
    guard let head = read(8, meta.lowerBound), head.count == 8 else { return nil }
    // In an MP4 version and flags come first.
    let start = head[4..<8].elementsEqual("hdlr".utf8) ? 0 : Int64(4)
    let boxes = BoxedMetadata.boxes(in: meta.dropFirst(start), read)
    guard let keys = content("keys", of: boxes), let items = content("ilst", of: boxes),
      let number = number(of: name, in: keys, read)
    else { return nil }
    let wanted = BoxedMetadata.boxes(in: items, read).first {
      Numbers(isBigEndian: true).value($0.type[...]) == number
    }
    guard let item = wanted?.content,
      let data = BoxedMetadata.boxes(in: item, read).first?.content.dropFirst(8),
      data.upperBound - data.lowerBound <= textLimit
    else { return nil }
    return read(Int(data.upperBound - data.lowerBound), data.lowerBound)
  }

  /// `keys`: version, flags, the number of names; each name with its length and namespace, 4 bytes each.
  private static func number(
    of wanted: [UInt8], in keys: Range<Int64>, _ read: CaptureDate.Read
  ) -> Int? {
    let names = BoxedMetadata.boxes(in: keys.dropFirst(8), read)
    let place = names.firstIndex { name in
      name.type.elementsEqual("mdta".utf8)
        && name.content.upperBound - name.content.lowerBound == wanted.count
        && read(wanted.count, name.content.lowerBound) == wanted
    }
    return place.map { $0 + 1 }
  }
}

extension Range<Int64> {
  /// The range without its first bytes; empty if it has no more.
  fileprivate func dropFirst(_ count: Int64) -> Range<Int64> {
    Swift.min(lowerBound + count, upperBound)..<upperBound
  }
}

extension CaptureTime {
  /// Reads the time of a container of video: `2021-05-06T07:08:09.000000Z`, or with Apple's zone `+0200`.
  package init?(movie text: [UInt8]) {
    var zone = text.dropFirst(19).drop { $0 == UInt8(ascii: ".") || 48...57 ~= $0 }
    if zone.count == 5 { zone = zone.prefix(3) + [UInt8(ascii: ":")] + zone.suffix(2) }
    self.init(Array(text.prefix(19) + zone))
  }
}
