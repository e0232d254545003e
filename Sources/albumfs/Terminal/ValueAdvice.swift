/// Says which values an option takes, by the name in the help. Values with a list of choices explain
/// themselves.
enum ValueAdvice {
  private static let values = [
    "<size>": "Give bytes, or a number with K, M, G or T, such as 500M.",
    "<s>": "Give a number of seconds, such as 900.",
    "<px>": "Give a number of pixels, such as 512.",
    "<time>": "Give a time, such as 90s, 15m or 2h.",
    "<n>": "Give a number, such as 100.",
    "<days>": "Give a number of days, such as 30d.",
    "<when>": "Give a time, such as 2026-11-26T10:00, or how long ago, such as 90m, 2h or 3d.",
    "<zone>": "Give a zone, such as Europe/Berlin or +02:00.",
  ]

  /// The lines of a message about wrong usage, with what is valid in the first one.
  static func added(to message: String) -> [String] {
    var lines = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for (name, advice) in values
    where lines[0].contains(" is invalid for '") && lines[0].hasSuffix("\(name)'") {
      lines[0] += ". \(advice)"
    }
    return lines
  }
}

extension StringProtocol {
  /// The text without blanks around it.
  var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\r\n" }
    return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}
