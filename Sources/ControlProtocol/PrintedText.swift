extension String {
  /// The text with escaped control characters, as `\u{1B}`: a file name could otherwise command the terminal.
  package var printable: String {
    var shown = ""
    for scalar in unicodeScalars {
      let isControl = scalar.properties.generalCategory == .control
      shown += isControl ? scalar.escaped(asASCII: true) : String(scalar)
    }
    return shown
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
