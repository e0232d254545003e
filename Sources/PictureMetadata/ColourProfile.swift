/// An ICC profile (ICC.1:2022) that holds what colours depend on. A display's profile names its maker, its
/// serial number, its owner and when it was calibrated; names, dates and everything that this parser does not
/// know go.
package enum ColourProfile {
  /// A larger one is refused.
  static let limit: Int64 = 8 << 20

  private static let headByteCount = 128
  private static let entryByteCount = 12
  private static let tagLimit = 200
  /// Tags that say how colours look.
  private static let colours: Set<String> = [
    "A2B0", "A2B1", "A2B2", "B2A0", "B2A1", "B2A2", "D2B0", "D2B1", "D2B2", "D2B3", "B2D0", "B2D1",
    "B2D2", "B2D3", "rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC", "kTRC", "wtpt", "bkpt", "chad",
    "chrm",
    "cicp", "gamt", "lumi",
  ]
  /// Tags that every profile must have, with texts.
  private static let texts: Set<String> = ["desc", "cprt"]
  /// Version, class, colour spaces; "acsp"; flags; attributes, intent, white.
  private static let keptOfHead = [8..<24, 36..<40, 44..<48, 56..<80]

  /// Tables that stand for other intents than "perceptual", or for all.
  private static let measured: Set<String> = ["A2B1", "rXYZ", "kTRC"]

  /// True if the only table is that of the intent "perceptual". It then stands for every intent (ICC.1:2022,
  /// 8.10.2).
  package static func hasOnlyPerceptualTable(_ profile: [UInt8]) -> Bool {
    let tags = entries(profile)?.map(\.signature) ?? []
    return tags.contains("A2B0") && measured.isDisjoint(with: tags)
  }

  private struct Entry {
    let signature: String
    let data: Range<Int>
  }

  /// Returns a profile of the same length; nil if it is none.
  static func stripped(_ profile: [UInt8]) -> [UInt8]? {
    guard let entries = entries(profile) else { return nil }
    var result = [UInt8](repeating: 0, count: profile.count)
    result.replaceSubrange(0..<4, with: profile[0..<4])
    for part in keptOfHead { result.replaceSubrange(part, with: profile[part]) }
    // Some readers want a date: 2000-01-01.
    result.replaceSubrange(24..<30, with: [0x07, 0xD0, 0, 1, 0, 1])

    var table: [UInt8] = []
    var count: UInt8 = 0
    func add(_ entry: Entry) {
      count += 1
      table += Array(entry.signature.utf8)
      for number in [entry.data.lowerBound, entry.data.count] {
        table += (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
      }
    }
    for entry in entries where texts.contains(entry.signature) {
      guard let text = emptyText(profile[entry.data]) else { continue }
      result.replaceSubrange(entry.data, with: text)
      add(entry)
    }
    for entry in entries where colours.contains(entry.signature) {
      result.replaceSubrange(entry.data, with: profile[entry.data])
      add(entry)
    }
    result[headByteCount + 3] = count
    result.replaceSubrange(headByteCount + 4..<headByteCount + 4 + table.count, with: table)
    return result
  }

  /// The tags of a profile: signature, offset and length of each.
  private static func entries(_ profile: [UInt8]) -> [Entry]? {
    func number(_ place: Int) -> Int { profile[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    let start = headByteCount + 4
    guard profile.count >= start, profile[36..<40].elementsEqual("acsp".utf8) else { return nil }
    let (size, count) = (number(0), number(headByteCount))
    guard size <= profile.count, count <= tagLimit, start + count * entryByteCount <= size else {
      return nil
    }
    let end = start + count * entryByteCount
    var entries: [Entry] = []
    for place in stride(from: start, to: end, by: entryByteCount) {
      let (offset, length) = (number(place + 4), number(place + 8))
      if offset < end || offset + length > size { return nil }
      let signature = String(decoding: profile[place..<place + 4], as: UTF8.self)
      if entries.contains(where: { $0.signature == signature }) { return nil }
      entries.append(Entry(signature: signature, data: offset..<offset + length))
    }
    return entries
  }

  /// A text of the same type and length without a character; nil for an unknown type.
  private static func emptyText(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var empty = [UInt8](repeating: 0, count: text.count)
    let type = text.prefix(4)
    empty.replaceSubrange(..<min(4, text.count), with: type)
    switch String(decoding: type, as: UTF8.self) {
    case "text" where text.count > 8: return empty
    // The number of characters, with the zero behind them; then those in two other encodings.
    case "desc" where text.count >= 90: empty[11] = 1
    // No translations, of 12 bytes each.
    case "mluc" where text.count >= 16: empty[15] = 12
    default: return nil
    }
    return empty
  }
}
