import ArgumentParser

/// Words that the command line understands although the help does not name them.
enum Words {
  /// Words that other programs use for a verb of albumfs.
  private static let synonyms = [
    "unmount": ["umount"], "passwd": ["space", "password"], "version": ["--version"],
  ]

  /// Replaces synonyms where a verb stands, and says which arguments of `find` are words.
  static func understood(_ arguments: [String]) -> [String] {
    if arguments.first == Find._commandName { return Find.arranged(arguments) }
    let place = arguments.first == "help" ? 1 : 0
    guard arguments.count > place, let verb = synonyms[arguments[place]] else { return arguments }
    return arguments[..<place] + verb + arguments[(place + 1)...]
  }

  /// Returns the sentence that refuses arguments, or nil. Nothing of albumfs has an empty name, and an empty
  /// path would mean the current directory: it comes from a variable of a script that has no value.
  static func refusal(of arguments: [String]) -> String? {
    // The shell completes an argument that is still empty.
    if arguments.first?.hasPrefix("---") ?? false { return nil }
    for (place, argument) in arguments.enumerated() {
      if argument.isEmpty { return "Error: Argument \(place + 1) is empty. Is a variable not set?" }
      if argument.hasPrefix("--"), argument.hasSuffix("="), !argument.dropLast().contains("=") {
        return "Error: \(argument.dropLast()) has an empty value. Is a variable not set?"
      }
    }
    return nil
  }

  private static var verbs: [String] {
    Albumfs.configuration.subcommands.compactMap { command in
      command.configuration.shouldDisplay ? command._commandName : nil
    }
  }

  /// Adds what is valid to a message about wrong usage.
  static func explained(_ message: String) -> String {
    var lines = ValueAdvice.added(to: message)
    if let typed = unknownVerb(lines[0]), let known = verbs(usedBy: lines) {
      lines.insert("Verbs: \(known.joined(separator: " "))", at: 1)
      let meant = known + (known == verbs ? Array(synonyms.keys) : [])
      if let near = nearest(to: typed, of: meant) {
        lines.insert("Did you mean '\(near)'?", at: 1)
      }
    }
    return lines.joined(separator: "\n")
  }

  private static func unknownVerb(_ line: String) -> String? {
    let parts = line.split(separator: "'", omittingEmptySubsequences: false)
    let isThat =
      parts[0] == "Error: Unexpected argument " || parts[0].hasSuffix(" unexpected arguments: ")
    return isThat && parts.count > 1 ? String(parts[1]) : nil
  }

  /// The verbs of albumfs, or those of the verb that the line with the usage names; nil if a verb was
  /// understood.
  private static func verbs(usedBy lines: [String]) -> [String]? {
    if lines.contains("Usage: albumfs <subcommand>") { return verbs }
    let groups: [any ParsableCommand.Type] = [
      SpaceCommand.self, ChaffCommand.self, DeletedCommand.self,
    ]
    return groups.first { lines.contains("Usage: albumfs \($0._commandName) <subcommand>") }.map {
      $0.configuration.subcommands.map { $0._commandName }
    }
  }

  /// The word that the fewest typing errors lead to, at most two; nil if there is none.
  static func nearest(to typed: String, of words: [String]) -> String? {
    let distances = words.map { (word: $0, distance: distance(typed, $0)) }
    let best = distances.min { ($0.distance, $0.word) < ($1.distance, $1.word) }
    return best.flatMap { $0.distance <= min(2, typed.count - 1) ? $0.word : nil }
  }

  /// The number of letters to insert, remove, replace or exchange with their neighbour (the restricted
  /// Damerau-Levenshtein distance).
  private static func distance(_ one: String, _ other: String) -> Int {
    let (a, b) = (Array(one.prefix(64)), Array(other))
    var rows = [Array(0...b.count)]
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var least = min(rows[i][j + 1], row[j]) + 1
        least = min(least, rows[i][j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          least = min(least, rows[i - 1][j - 1] + 1)
        }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
