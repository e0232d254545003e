extension String {
  /// The text with escaped control characters, as `\u{1B}`: a file name could otherwise command the terminal.
  /// Marks that turn the direction of text are escaped too: they make names read as others.
  package var printable: String { escaped { _ in false } }

  /// The same for text of several lines.
  package var printableLines: String { escaped { $0 == "\n" || $0 == "\t" } }

  private func escaped(except isKept: (Unicode.Scalar) -> Bool) -> String {
    var shown = ""
    for scalar in unicodeScalars {
      shown += scalar.isCommand && !isKept(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
    }
    return shown
  }
}

extension Unicode.Scalar {
  fileprivate var isCommand: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: 0x202A...0x202E ~= value || 0x2066...0x2069 ~= value
    }
  }
}

/// Words that a person can paste into a shell.
package enum ShellWord {
  package static func quoted(_ word: String) -> String {
    let isPlain = word.allSatisfy { $0.isLetter || $0.isNumber || "/-_.~+:@,".contains($0) }
    if isPlain, !word.isEmpty { return word }
    return "'" + word.replacing("'", with: "'\\''") + "'"
  }
}
