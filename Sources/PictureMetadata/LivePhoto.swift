/// Finds the identifier that Apple writes into both parts of a Live Photo: into the maker's note of the
/// photo, and into the metadata of the film.
///
/// Never trusts the file: reads at most `readLimit` pieces of bounded size.
package enum LivePhoto {
  private static let readLimit = 500
  /// An identifier is a UUID of 36 characters.
  private static let lengths = 8...64
  private static let maker = Array("Apple iOS\0".utf8)
  private static let noteLimit = 64 << 10
  /// The entry of the maker's note with the identifier.
  private static let tag = 0x0011

  /// nil if the file has none.
  package static func identifier(size: Int64, _ read: CaptureDate.Read) -> String? {
    var readsLeft = readLimit
    return search(
      size: size,
      { (count: Int, offset: Int64) -> [UInt8]? in
        readsLeft -= 1
        return readsLeft < 0 ? nil : read(count, offset)
      })
  }

  private static func search(size: Int64, _ read: CaptureDate.Read) -> String? {
    guard size >= 0, let head = read(12, 0), head.count == 12 else { return nil }
    let blocks = MetadataBlocks.find(head, size: size, read)
    if let movie = blocks.movie {
      return MovieDate.text(of: "com.apple.quicktime.content.identifier", in: movie, read)
        .flatMap(text)
    }
    var found: String?
    for block in blocks.exif where found == nil {
      ExifBlock.values(in: block, read) { values in
        found = values.bytes(0x927C, atMost: noteLimit).flatMap(identifier)
      }
    }
    return found
  }

  /// The maker's note: a name, two bytes, the order of bytes, and a directory as in EXIF data, whose offsets
  /// count from the start of the note.
  private static func identifier(in note: [UInt8]) -> String? {
    guard note.starts(with: maker), note.count > 16 else { return nil }
    let isBig = note[12...].starts(with: "MM".utf8)
    guard isBig || note[12...].starts(with: "II".utf8) else { return nil }
    let numbers = Numbers(isBigEndian: isBig)
    let count = numbers.value(note[14..<16])
    for place in stride(from: 16, to: 16 + 12 * count, by: 12) {
      guard place + 12 <= note.count else { return nil }
      let entry = note[place..<place + 12]
      if numbers.value(entry.prefix(2)) != tag { continue }
      let length = numbers.value(entry.dropFirst(4).prefix(4))
      let start = numbers.value(entry.dropFirst(8))
      guard lengths ~= length, start <= note.count - length else { return nil }
      return text(Array(note[start..<start + length]))
    }
    return nil
  }

  private static func text(_ bytes: [UInt8]) -> String? {
    let text = bytes.prefix { $0 != 0 }
    let isPlain = text.allSatisfy { 0x21...0x7E ~= $0 }
    return lengths ~= text.count && isPlain ? String(decoding: text, as: UTF8.self) : nil
  }
}
