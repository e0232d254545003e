package import AlbumModel
import UnicodeForms

/// Texts of a photo in the form in which a search compares them: words in small letters without marks, one
/// blank between them. A byte before each text says which field it is of.
package struct SearchText: Equatable, Sendable {
  /// Raw values are the marks of the fields.
  package enum Field: UInt8, CaseIterable, Sendable {
    case name = 1
    case album = 2
    case caption = 3
    case tag = 4
    case person = 5
    case camera = 6
    case lens = 7
    case place = 8
  }

  package private(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func add(_ field: Field, _ text: [UInt8]) {
    let words = SearchText.words(text)
    if !words.isEmpty { bytes += [field.rawValue] + words }
  }

  package mutating func add(_ field: Field, _ text: String?) {
    if let text { add(field, Array(text.utf8)) }
  }

  /// What a name says, and what is known besides.
  package init(name: FileName, _ facts: KnownFacts = KnownFacts()) {
    add(.name, name.bytes)
    add(.caption, facts.caption)
    for tag in facts.tags { add(.tag, tag) }
    for person in facts.people { add(.person, person) }
    add(.camera, facts.camera)
    add(.lens, facts.lens)
  }

  /// The names of an album and of those that it lies in.
  package init(album path: [FileName]) {
    for name in path { add(.album, name.bytes) }
  }

  /// The words of a text. What is neither a letter nor a digit separates them.
  static func words(_ text: [UInt8]) -> [UInt8] {
    if text.allSatisfy({ $0 < 0x80 }) { return plainWords(text) }
    let scalars =
      UnicodeForms.searchForm(text)
      ?? String(decoding: text, as: UTF8.self).unicodeScalars.map { $0 }
    var words: [UInt8] = []
    for scalar in scalars {
      if isWord(scalar) {
        words += Array(String(Character(scalar)).utf8)
      } else if let last = words.last, last != blank {
        words.append(blank)
      }
    }
    if words.last == blank { words.removeLast() }
    return words
  }

  private static func plainWords(_ text: [UInt8]) -> [UInt8] {
    var words: [UInt8] = []
    words.reserveCapacity(text.count)
    for byte in text {
      switch byte {
      case 0x30...0x39, 0x61...0x7A: words.append(byte)
      case 0x41...0x5A: words.append(byte | 0x20)
      default: if let last = words.last, last != blank { words.append(blank) }
      }
    }
    if words.last == blank { words.removeLast() }
    return words
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .nonspacingMark, .spacingMark, .decimalNumber, .letterNumber, .otherNumber:
      true
    default: false
    }
  }

  static let blank = UInt8(ascii: " ")
}

/// Words that a text must contain, one after another. The last may be the beginning of a word, unless whole
/// words are wanted.
struct Needle: Equatable, Sendable {
  let words: [UInt8]
  var field: SearchText.Field?
  var isWhole = false
  /// True of scripts that put no blanks between words.
  private let mayBeginAnywhere: Bool

  /// nil for a text without words.
  init?(_ text: String, in field: SearchText.Field? = nil, isWhole: Bool = false) {
    words = SearchText.words(Array(text.utf8))
    if words.isEmpty { return nil }
    (self.field, self.isWhole) = (field, isWhole)
    let first = String(decoding: words, as: UTF8.self).unicodeScalars.first?.value ?? 0
    mayBeginAnywhere = first >= 0x0E00 && !(0x1E00...0x1FFF ~= first)
  }

  func isIn(_ text: borrowing Span<UInt8>) -> Bool {
    let first = words[0]
    let last = text.count - words.count
    if last < 1 { return false }
    var place = 1
    while place <= last {
      if text[place] == first, begins(at: place, text), matches(at: place, text) { return true }
      place += 1
    }
    return false
  }

  private func matches(at place: Int, _ text: borrowing Span<UInt8>) -> Bool {
    for offset in 1..<max(1, words.count) where text[place + offset] != words[offset] {
      return false
    }
    let end = place + words.count
    if isWhole, end < text.count, text[end] > SearchText.blank { return false }
    return field.map { Needle.field(at: place, text) == $0.rawValue } ?? true
  }

  /// True where a word begins, or a number within one: `1234` finds `DSC01234`.
  private func begins(at place: Int, _ text: borrowing Span<UInt8>) -> Bool {
    if mayBeginAnywhere { return true }
    let before = text[place - 1]
    if before <= SearchText.blank { return true }
    let isDigit = 0x30...0x39 ~= words[0]
    if !(0x30...0x39 ~= before) { return isDigit && !isWhole }
    if !isDigit { return !isWhole }
    // Zeros before a number do not count.
    var start = place - 1
    while start > 0, text[start] == 0x30 { start -= 1 }
    return !isWhole && !(0x30...0x39 ~= text[start])
  }

  private static func field(at place: Int, _ text: borrowing Span<UInt8>) -> UInt8 {
    var place = place
    while place > 0, text[place] >= SearchText.blank { place -= 1 }
    return text[place]
  }
}
