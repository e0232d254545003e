import ControlProtocol
import Posix
import Traces

/// Finds the file manager of the desktop. xdg-open would return at once, and the session of `browse` end with
/// it.
enum FileManagerChoice {
  private static let known = [
    "thunar", "nautilus", "nemo", "caja", "dolphin", "pcmanfm", "pcmanfm-qt",
  ]

  /// The words that show a directory.
  static func command(showing directory: String) throws(Failure) -> [String] {
    if let chosen = chosenProgram() { return chosen + [directory] }
    for program in known where Subprocess.find(program) != nil { return [program, directory] }
    throw Failure(
      .other, "No file manager was found. Name a program: albumfs browse MOUNTPOINT -- PROGRAM")
  }

  /// The program that the user chose for directories, from its desktop entry.
  private static func chosenProgram() -> [String]? {
    // The only output that `run` returns is standard error.
    let query = "xdg-mime query default inode/directory >&2 2>/dev/null"
    guard Subprocess.find("xdg-mime") != nil,
      let (code, printed) = try? Subprocess.run(["sh", "-c", query]), code == 0
    else { return nil }
    let name = printed.split(separator: "\n").first.map(String.init) ?? ""
    guard name.hasSuffix(".desktop"), !name.contains("/") else { return nil }
    for directory in BaseDirectory.dataSearchPath() {
      guard let content = try? readWholeFile("\(directory)/applications/\(name)") else { continue }
      let line = SettingsFile.value("Exec", group: "Desktop Entry", content, home: "")
      let words = line.map { split(String(decoding: $0, as: UTF8.self)) } ?? []
      guard let program = words.first, Subprocess.find(program) != nil || program.hasPrefix("/")
      else { return nil }
      return words
    }
    return nil
  }

  /// The words of an Exec line without its field codes (Desktop Entry Specification).
  static func split(_ line: String) -> [String] {
    var words: [String] = []
    var word = ""
    var isQuoted = false
    var isEscaped = false
    for character in line + " " {
      if isEscaped {
        word.append(character)
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == " ", !isQuoted {
        if !word.isEmpty, !(word.count == 2 && word.hasPrefix("%")) { words.append(word) }
        word = ""
      } else {
        word.append(character)
      }
    }
    return words
  }
}
