/// A list of bookmarks in XBEL, as GTK, KDE and gThumb keep recently used files: which bookmarks stand where
/// in its bytes. Understands only what such programs write, and refuses everything else: a document type of
/// its own, unbalanced tags, bookmarks in bookmarks.
struct BookmarkFile {
  struct Bookmark: Equatable {
    /// From `<bookmark` to the end of its closing tag.
    var range: Range<Int>
    /// The decoded value of `href`.
    var target: [UInt8]
  }

  private(set) var bookmarks: [Bookmark] = []

  private struct NotUnderstood: Error {}

  /// nil if the content is not understood.
  init?(_ content: [UInt8]) {
    do throws(NotUnderstood) { try read(content) } catch { return nil }
  }

  /// The content without some bookmarks, each with the white space before it: no other byte changes, and
  /// nothing shows where they were.
  static func removing(_ bookmarks: [Bookmark], from content: [UInt8]) -> [UInt8] {
    var kept: [UInt8] = []
    var place = 0
    for bookmark in bookmarks.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      var end = bookmark.range.lowerBound
      while end > place, isSpace(content[end - 1]) { end -= 1 }
      kept += content[place..<end]
      place = bookmark.range.upperBound
    }
    return kept + content[place...]
  }

  // MARK: Reading

  /// No such file nests its elements deeper.
  private static let depthLimit = 64

  private mutating func read(_ content: [UInt8]) throws(NotUnderstood) {
    var reader = Reader(content)
    var open: [[UInt8]] = []
    var current: (start: Int, target: [UInt8])?
    var hasRoot = false
    while let tag = try reader.nextTag() {
      switch tag.kind {
      case .opening, .empty:
        if open.isEmpty {
          if hasRoot || tag.name != Array("xbel".utf8) { throw NotUnderstood() }
          hasRoot = true
        }
        let isBookmark = tag.name == Array("bookmark".utf8)
        if isBookmark {
          guard current == nil, let target = tag.href else { throw NotUnderstood() }
          current = (tag.range.lowerBound, target)
        }
        if tag.kind == .opening {
          if open.count == BookmarkFile.depthLimit { throw NotUnderstood() }
          open.append(tag.name)
        } else if isBookmark {
          end(&current, at: tag.range.upperBound)
        }
      case .closing:
        guard open.popLast() == tag.name else { throw NotUnderstood() }
        if tag.name == Array("bookmark".utf8) { end(&current, at: tag.range.upperBound) }
      }
    }
    if !hasRoot || !open.isEmpty { throw NotUnderstood() }
  }

  private mutating func end(_ current: inout (start: Int, target: [UInt8])?, at end: Int) {
    guard let (start, target) = current else { return }
    bookmarks.append(Bookmark(range: start..<end, target: target))
    current = nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

  private struct Tag {
    enum Kind { case opening, closing, empty }
    var kind: Kind
    var name: [UInt8]
    var href: [UInt8]?
    var range: Range<Int>
  }

  /// Finds the tags of an XML document. Skips text, comments, declarations and processing instructions.
  private struct Reader {
    private let content: [UInt8]
    private var place = 0

    init(_ content: [UInt8]) { self.content = content }

    /// nil at the end of the document.
    mutating func nextTag() throws(NotUnderstood) -> Tag? {
      while true {
        guard let start = content[place...].firstIndex(of: UInt8(ascii: "<")) else { return nil }
        place = start
        if skip("<!--") {
          try skip(past: "-->")
        } else if skip("<![CDATA[") {
          try skip(past: "]]>")
        } else if skip("<?") {
          try skip(past: "?>")
        } else if skip("<!DOCTYPE") {
          let end = content[place...].firstIndex(of: UInt8(ascii: ">"))
          // A document type with declarations of its own may define entities.
          guard let end, !content[place..<end].contains(UInt8(ascii: "[")) else {
            throw NotUnderstood()
          }
          place = end + 1
        } else {
          return try readTag(from: start)
        }
      }
    }

    private mutating func readTag(from start: Int) throws(NotUnderstood) -> Tag {
      place = start + 1
      let isClosing = skip("/")
      let name = readName()
      if name.isEmpty { throw NotUnderstood() }
      var href: [UInt8]?
      while true {
        let hadSpace = skipSpace()
        if skip(">") {
          let kind = isClosing ? Tag.Kind.closing : .opening
          return Tag(kind: kind, name: name, href: href, range: start..<place)
        }
        if isClosing { throw NotUnderstood() }
        if skip("/>") { return Tag(kind: .empty, name: name, href: href, range: start..<place) }
        let attribute = readName()
        if !hadSpace || attribute.isEmpty { throw NotUnderstood() }
        let value = try readValue()
        if attribute == Array("href".utf8) {
          if href != nil { throw NotUnderstood() }
          href = try BookmarkFile.decoded(value)
        }
      }
    }

    private mutating func readValue() throws(NotUnderstood) -> ArraySlice<UInt8> {
      _ = skipSpace()
      if !skip("=") { throw NotUnderstood() }
      _ = skipSpace()
      guard place < content.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(content[place])
      else { throw NotUnderstood() }
      let quote = content[place]
      guard let end = content[(place + 1)...].firstIndex(of: quote) else { throw NotUnderstood() }
      let value = content[(place + 1)..<end]
      if value.contains(UInt8(ascii: "<")) { throw NotUnderstood() }
      place = end + 1
      return value
    }

    private mutating func readName() -> [UInt8] {
      let ends = Array(" \t\r\n/>=<\"'&".utf8)
      let name = content[place...].prefix { !ends.contains($0) }
      place = name.endIndex
      return Array(name)
    }

    private mutating func skipSpace() -> Bool {
      let start = place
      while place < content.count, BookmarkFile.isSpace(content[place]) { place += 1 }
      return place > start
    }

    private mutating func skip(_ text: String) -> Bool {
      let isHere = content[place...].starts(with: text.utf8)
      if isHere { place += text.utf8.count }
      return isHere
    }

    private mutating func skip(past text: String) throws(NotUnderstood) {
      let text = Array(text.utf8)
      while place + text.count <= content.count {
        if content[place] == text[0], content[place...].starts(with: text) {
          place += text.count
          return
        }
        place += 1
      }
      throw NotUnderstood()
    }
  }

  /// Decodes the entities of an attribute's value.
  private static func decoded(_ value: ArraySlice<UInt8>) throws(NotUnderstood) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = value
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "&") {
        bytes.append(byte)
        continue
      }
      guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
        throw NotUnderstood()
      }
      bytes += try character(String(decoding: rest[..<end], as: UTF8.self))
      rest = rest[(end + 1)...]
    }
    return bytes
  }

  private static func character(_ entity: String) throws(NotUnderstood) -> [UInt8] {
    switch entity {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default:
      let digits = entity.dropFirst(entity.hasPrefix("#x") ? 2 : 1)
      let number = UInt32(digits, radix: entity.hasPrefix("#x") ? 16 : 10)
      guard entity.hasPrefix("#"), let number, let scalar = Unicode.Scalar(number) else {
        throw NotUnderstood()
      }
      return Array(String(Character(scalar)).utf8)
    }
  }
}
