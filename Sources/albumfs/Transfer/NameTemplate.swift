import AlbumModel

/// A pattern of `import --name`: text with words in braces, each of which stands for something of the photo.
struct NameTemplate {
  enum Word: String, CaseIterable {
    case date, time, year, month, day, camera, name, counter
  }

  private enum Part {
    case text(String)
    case word(Word)
  }

  /// What the words stand for.
  struct Values {
    /// When the photo was taken.
    let moment: CaptureTime
    let camera: String?
    /// The name that the file had, without its ending.
    let name: [UInt8]
  }

  private let parts: [Part]
  private let hasCounter: Bool
  /// Digits of the counter, at least.
  private static let counterWidth = 3

  /// Throws a sentence that says what is wrong.
  init(_ text: String) throws(Fault) {
    var parts: [Part] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
      guard let close = rest[open...].firstIndex(of: "}") else {
        throw Fault(reason: "a brace is not closed")
      }
      let name = rest[rest.index(after: open)..<close]
      guard let word = Word(rawValue: String(name)) else {
        let known = Word.allCases.map { "{\($0.rawValue)}" }.joined(separator: " ")
        throw Fault(reason: "{\(name)} is unknown. The words are \(known)")
      }
      parts.append(.word(word))
      rest = rest[rest.index(after: close)...]
    }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
    if text.contains("/") || text.hasPrefix(".")
      || text.unicodeScalars.contains(where: { $0.value < 0x20 })
    {
      throw Fault(reason: "a name has no slash and does not begin with a dot")
    }
    hasCounter = text.contains("{counter}")
    guard parts.contains(where: { if case .word = $0 { true } else { false } }) else {
      throw Fault(reason: "it has no word in braces, so all photos would have one name")
    }
    self.parts = parts
  }

  struct Fault: Error, Equatable { let reason: String }

  /// The name of a photo. `number` counts up until the name is free: it is the counter, or where the pattern
  /// has none, stands behind the name (`2019-05-05 (2).jpg`).
  func name(of file: FileName, _ values: Values, number: Int) -> FileName {
    let ending =
      file.bytes.lastIndex(of: UInt8(ascii: "."))
      .flatMap { $0 == 0 ? nil : Array(file.bytes[$0...]) } ?? []
    var stem = parts.flatMap { bytes(of: $0, values, number) }
    if stem.first == UInt8(ascii: ".") { stem[0] = UInt8(ascii: "_") }
    while stem.count + ending.count > FileName.maximumLength {
      // A character of UTF-8 goes as a whole.
      while let last = stem.popLast(), last & 0xC0 == 0x80 {}
    }
    guard !stem.isEmpty, let name = try? FileName(stem + ending) else { return file }
    return hasCounter ? name : NumberedName.of(name, number)
  }

  private func bytes(of part: Part, _ values: Values, _ number: Int) -> [UInt8] {
    let moment = values.moment
    switch part {
    case .text(let text): return Array(text.utf8)
    case .word(.name): return values.name
    case .word(.date): return Array(moment.day.utf8)
    case .word(.time):
      return Array(moment.text.dropFirst(11).prefix(8).replacing(":", with: "-").utf8)
    case .word(.year): return Array(moment.day.prefix(4).utf8)
    case .word(.month): return Array(moment.day.dropFirst(5).prefix(2).utf8)
    case .word(.day): return Array(moment.day.suffix(2).utf8)
    case .word(.camera): return Array((values.camera ?? "unknown").replacing("/", with: "_").utf8)
    case .word(.counter):
      let digits = "\(number)"
      return Array(
        (String(repeating: "0", count: max(0, NameTemplate.counterWidth - digits.count)) + digits)
          .utf8)
    }
  }
}
