/// The text of tumbler's `tumbler.rc`: a group for each plugin, whose line `Excludes=` names the directories
/// that the plugin makes no thumbnails of.
package struct TumblerSettings: Equatable {
  package private(set) var text: String

  package init(_ text: String) { self.text = text }

  /// Adds a directory to every plugin's list, unless it is there.
  package mutating func exclude(_ directory: String) {
    let word = TumblerSettings.escaped(directory)
    edit { pieces in
      if pieces.contains(word) { return }
      // Keeps the form of the list: with a separator at its end or without.
      if pieces.last == "" {
        pieces.insert(word, at: pieces.count - 1)
      } else {
        pieces.append(word)
      }
    }
  }

  /// Removes a directory from every plugin's list.
  package mutating func include(_ directory: String) {
    let word = TumblerSettings.escaped(directory)
    edit { pieces in
      pieces.removeAll { $0 == word }
      if pieces.isEmpty { pieces = [""] }
    }
  }

  /// True if every plugin leaves the directory alone.
  package func excludes(_ directory: String) -> Bool {
    var same = self
    same.exclude(directory)
    return same == self && text.split(separator: "\n").contains { $0.hasPrefix("[") }
  }

  /// tumbler replaces variables in these paths, and knows no way to write a dollar sign.
  package static func canName(_ directory: String) -> Bool { !directory.contains("$") }

  // MARK: Lines

  private static let key = "Excludes"

  /// Changes the list of each group.
  private mutating func edit(_ change: (inout [String]) -> Void) {
    var lines: [String] = []
    // Where a line belongs if the group has none.
    var place: Int?
    func finish() {
      guard let end = place else { return }
      var pieces = [""]
      change(&pieces)
      if pieces != [""] {
        lines.insert("\(TumblerSettings.key)=\(pieces.joined(separator: ";"))", at: end)
      }
      place = nil
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("[") {
        finish()
        lines.append(String(line))
        place = lines.count
        continue
      }
      guard let value = TumblerSettings.value(line), place != nil else {
        lines.append(String(line))
        if place != nil, !line.isEmpty, !line.hasPrefix("#") { place = lines.count }
        continue
      }
      var pieces = TumblerSettings.pieces(value)
      change(&pieces)
      lines.append(line.prefix(line.count - value.count) + pieces.joined(separator: ";"))
      place = nil
    }
    finish()
    text = lines.joined(separator: "\n")
  }

  /// The value of a line `Excludes = …`; nil for another line.
  private static func value(_ line: Substring) -> Substring? {
    guard let sign = line.firstIndex(of: "=") else { return nil }
    if line[..<sign].filter({ $0 != " " }) != key { return nil }
    return line[line.index(after: sign)...].drop { $0 == " " }
  }

  /// The items of a list, as they are written. A backslash makes the next character part of an item.
  private static func pieces(_ value: Substring) -> [String] {
    var pieces = [""]
    var isEscaped = false
    for character in value {
      if character == ";", !isEscaped {
        pieces.append("")
      } else {
        pieces[pieces.count - 1].append(character)
      }
      isEscaped = character == "\\" && !isEscaped
    }
    return pieces
  }

  private static func escaped(_ directory: String) -> String {
    directory.reduce(into: "") { word, character in
      switch character {
      case "\\", ";": word += "\\\(character)"
      case "\n": word += "\\n"
      case "\t": word += "\\t"
      case "\r": word += "\\r"
      default: word.append(character)
      }
    }
  }
}
