import ArgumentParser

/// Words that the command line understands although the help does not name them.
enum Words {
  /// Words that other programs use for a verb of albumfs.
  private static let synonyms = [
    "unmount": ["umount"], "passwd": ["space", "password"], "version": ["--version"],
  ]

  /// Replaces synonyms where a verb stands.
  static func understood(_ arguments: [String]) -> [String] {
    let place = arguments.first == "help" ? 1 : 0
    guard arguments.count > place, let verb = synonyms[arguments[place]] else { return arguments }
    return arguments[..<place] + verb + arguments[(place + 1)...]
  }

  /// Explains which values an option takes, by the name in the help. Values with a list of choices explain
  /// themselves.
  private static let values = [
    "<size>": "Give bytes, or a number with K, M, G or T, such as 500M.",
    "<s>": "Give a number of seconds, such as 900.",
    "<px>": "Give a number of pixels, such as 512.",
    "<time>": "Give a time, such as 90s, 15m or 2h.",
    "<n>": "Give a number, such as 100.",
  ]

  private static var verbs: [String] {
    Albumfs.configuration.subcommands.compactMap { command in
      command.configuration.shouldDisplay ? command._commandName : nil
    }
  }

  /// Adds what is valid to a message about wrong usage.
  static func explained(_ message: String) -> String {
    var lines = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for (name, advice) in values
    where lines[0].contains(" is invalid for '") && lines[0].hasSuffix("\(name)'") {
      lines[0] += ". \(advice)"
    }
    if lines[0].hasPrefix("Error: Unexpected argument '"),
      lines.contains("Usage: albumfs <subcommand>")
    {
      lines.insert("Verbs: \(verbs.joined(separator: " "))", at: 1)
    }
    return lines.joined(separator: "\n")
  }
}

extension StringProtocol {
  /// The text without blanks around it.
  var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\r\n" }
    return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}
