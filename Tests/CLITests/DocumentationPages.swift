import AlbumTestSupport
import Foundation

/// README, or a page of the documentation.
struct Page {
  /// Relative to the repository.
  let path: String
  let text: String

  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  private static let folders = ["albumfs", "Gallery"].map { "Sources/\($0)/Documentation.docc" }

  init(path: String) throws {
    self.path = path
    text = try String(contentsOf: Page.root.appendingPathComponent(path), encoding: .utf8)
  }

  /// True if Swift's `docc` is in PATH, beside `swift`.
  static var hasDocC: Bool {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return path.split(separator: ":").contains { folder in
      let swift = URL(fileURLWithPath: "\(folder)/swift").resolvingSymlinksInPath()
      let docc = swift.deletingLastPathComponent().appendingPathComponent("docc").path
      return FileManager.default.isExecutableFile(atPath: docc)
    }
  }

  static func readme() throws -> Page { try Page(path: "README.md") }

  static func named(_ name: String) throws -> Page { try Page(path: "\(folders[0])/\(name).md") }

  static func all() throws -> [Page] {
    let pages = try folders.flatMap { folder in
      try FileManager.default.contentsOfDirectory(atPath: root.path + "/" + folder)
        .filter { $0.hasSuffix(".md") }.sorted().map { try Page(path: folder + "/" + $0) }
    }
    return try [readme()] + pages
  }

  /// The lines outside of blocks of code.
  private var prose: [Substring] {
    var isCode = false
    return text.split(separator: "\n").filter { line in
      let isFence = line.drop { $0 == " " }.hasPrefix("```")
      if isFence { isCode.toggle() }
      return !isCode && !isFence
    }
  }

  /// Where the links of the page lead, but for those to the web.
  var links: [String] {
    let plain = prose.joined(separator: "\n").replacing(/`[^`]*`/, with: "code")
    let targets = plain.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
    return targets.filter { !$0.hasPrefix("https://") }
  }

  private var headings: [String] {
    prose.compactMap { line in line.firstMatch(of: /^#+ (.+)$/).map { String($0.1) } }
  }

  /// The anchors as the web pages of repositories make them.
  private var webAnchors: Set<String> {
    Set(
      headings.map { heading in
        heading.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
          .replacing(" ", with: "-")
      })
  }

  /// What is wrong with a link of a page.
  static func problem(of link: String, in page: Page) throws -> String? {
    let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let target = String(parts[0])
    let folder = (page.path as NSString).deletingLastPathComponent
    var path = folder.isEmpty ? target : "\(folder)/\(target)"
    if target.isEmpty { path = page.path }
    guard FileManager.default.fileExists(atPath: "\(root.path)/\(path)") else {
      return "no such file"
    }
    guard parts.count > 1 else { return nil }
    return try Page(path: path).webAnchors.contains(String(parts[1])) ? nil : "no such heading"
  }

  /// The cells of the first table between two marks, with its head.
  func rows(_ mark: String) throws -> [[String]] {
    guard let begin = text.range(of: "<!-- \(mark) -->\n"),
      let end = text.range(of: "<!-- /\(mark) -->")
    else { throw MissingTable(mark: mark) }
    let lines = text[begin.upperBound..<end.lowerBound].split(separator: "\n")
      .prefix { $0.hasPrefix("|") }
    return lines.enumerated().filter { $0.offset != 1 }.map { line in
      line.element.dropFirst().dropLast().replacing("\\|", with: "/")
        .split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  struct MissingTable: Error { var mark: String }
}

extension String {
  /// What stands between backticks.
  var codeSpans: [String] { matches(of: /`([^`]+)`/).map { String($0.1) } }

  var firstWord: String { String(prefix { $0 != " " }) }
}

/// A verb of the program, as the program describes it.
struct Verb {
  let name: String
  /// The names of each option.
  let options: [Set<String>]
  /// Options without a text.
  let unexplained: [String]

  /// Whether a row of a table is about this verb: `mount [STORE]`.
  func isShown(as usage: String) -> Bool {
    guard usage.hasPrefix(name) else { return false }
    let rest = usage.dropFirst(name.count)
    return rest.isEmpty || rest.hasPrefix(" ") && !(rest.dropFirst().first?.isLowercase ?? true)
  }

  static func all() throws -> [Verb] {
    let dump = try TestStore.run(["--experimental-dump-help"]).output
    let program = try JSONDecoder().decode(Dump.self, from: Data(dump.utf8)).command
    return leaves(program.subcommands ?? [], "")
  }

  private static func leaves(_ commands: [Dump.Command], _ words: String) -> [Verb] {
    commands.filter { $0.shouldDisplay ?? true && $0.commandName != "help" }.flatMap { command in
      let name = words + command.commandName
      let below = (command.subcommands ?? []).filter { $0.commandName != "help" }
      return below.isEmpty ? [Verb(name, command.arguments ?? [])] : leaves(below, name + " ")
    }
  }

  private init(_ name: String, _ arguments: [Dump.Argument]) {
    self.name = name
    let shown = arguments.filter { $0.shouldDisplay ?? true && $0.names != nil }
    options = shown.map { Set($0.spellings) }
    unexplained = shown.filter { ($0.abstract ?? "").isEmpty }.flatMap(\.spellings)
  }

  private struct Dump: Decodable {
    struct Command: Decodable {
      var commandName: String
      var shouldDisplay: Bool?
      var arguments: [Argument]?
      var subcommands: [Command]?
    }

    struct Argument: Decodable {
      struct Name: Decodable {
        var kind: String
        var name: String
      }

      var shouldDisplay: Bool?
      var names: [Name]?
      var abstract: String?

      var spellings: [String] {
        (names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }
      }
    }

    var command: Command
  }
}
