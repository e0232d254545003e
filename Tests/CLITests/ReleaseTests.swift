import AlbumTestSupport
import Foundation
import Testing

/// A release says what it brings, and what it brought stays. Tests/Fixtures/interface.txt lists each option, exit
/// code and number of the format with the release that brought it.
@Suite struct ReleaseTests {
  // MARK: The list

  /// The options, exit codes and numbers of the format as the program and the sources have them.
  private func interface() throws -> Set<String> {
    let options = try Verb.all().flatMap { verb in
      verb.options.map { names in "option \(verb.name) \(names.sorted().joined(separator: " "))" }
    }
    let help = try TestStore.run(["--help"]).output
    let codes = help.components(separatedBy: "EXIT CODES:\n").dropFirst().joined()
      .matches(of: #/(?m)^ +(\d+) /#).map { "exit \($0.1)" }
    return Set(options + codes + (try Self.numbersOfTheFormat()))
  }

  /// What the sources of AlbumFormat name and number: `format RecordLayout.grid = 256`.
  private static func numbersOfTheFormat() throws -> [String] {
    let folder = Page.root.appendingPathComponent("Sources/AlbumFormat")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    return try files.flatMap { file -> [String] in
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      return numbers(in: text).map { "format \(file.dropLast(6)) \($0)" }
    }
  }

  /// Constants of types, values of enums, and the numbers that a `switch` gives to cases.
  static func numbers(in source: String) -> [String] {
    let forms = [
      /^ *(?:package |private |fileprivate )?static let (\w+)(?:: [\w.]+)? = (.+)$/,
      /^ *case \.?(\w+)(?: =|:) (\d\w*)$/,
    ]
    return source.split(separator: "\n").flatMap { line -> [String] in
      if let all = line.firstMatch(of: /^ *(?:package )?enum \w+:.*\{ case (.+) \}$/) {
        return all.1.split(separator: ", ").map(String.init)
      }
      return forms.compactMap { form in
        line.firstMatch(of: form).map { "\($0.1) = \($0.2)" }
      }
    }
  }

  private static func listed() throws -> [(release: String, entry: String)] {
    let path = Page.root.appendingPathComponent("Tests/Fixtures/interface.txt")
    let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
    return lines.filter { !$0.hasPrefix("#") }.map { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
  }

  /// An option, exit code or number of the format that is new or gone is so in CHANGELOG, too.
  @Test func everyOptionExitCodeAndNumberOfTheFormatHasItsRelease() throws {
    let (present, listed) = (try interface(), try Self.listed())
    #expect(present.count > 150)
    let known = Set(listed.filter { !$0.entry.hasPrefix("gone ") }.map(\.entry))
    for entry in present.subtracting(known).sorted() {
      Issue.record(
        "\(entry): new. Say in CHANGELOG what it changes for users, and list it in Tests/Fixtures/interface.txt"
      )
    }
    for entry in known.subtracting(present).sorted() {
      Issue.record(
        "\(entry): gone. Say in CHANGELOG what users do now, and begin its line in Tests/Fixtures/interface.txt with the release and \"gone\""
      )
    }
    #expect(known.count == listed.count { !$0.entry.hasPrefix("gone ") }, "a line is there twice")
    let changelog = try Changelog(Page(path: "CHANGELOG.md").text)
    for (release, entry) in listed {
      let fault = changelog.fault(of: entry, in: release)
      #expect(fault == nil, "\(release) \(entry): \(fault ?? "")")
    }
  }

  @Test func anEntryThatChangelogLacksIsFound() throws {
    let changelog = Changelog(
      """
      # Changelog
      ## Unreleased
      - `mount --later` waits. Exit code 52 says so. Frames have the item `late`.
      ## 0.1.0 (2026-11-27)
      - The first release.
      """)
    for (release, entry, isFound) in [
      ("Unreleased", "option mount --later", true), ("Unreleased", "option mount --sooner", false),
      ("Unreleased", "option mount --late", false), ("Unreleased", "exit 52", true),
      ("Unreleased", "exit 5", false), ("Unreleased", "format JournalItem late = 13", true),
      ("Unreleased", "format JournalItem lately = 13", false), ("0.1.0", "exit 5", true),
      ("Unreleased", "gone option mount --later", true), ("0.2.0", "option mount --later", false),
    ] {
      #expect((changelog.fault(of: entry, in: release) == nil) == isFound, "\(release) \(entry)")
    }
  }

  @Test func everyKindOfNumberIsSeen() {
    let source = """
      package enum Kind: UInt8, Sendable {
        case data = 1
      }
        package static let grid = 256
        static let limit: Int64 = 1 << 56
        enum Reason: UInt8, Sendable { case full = 1, endOfSession = 2 }
          case .barrier: 9
          case .barrier(let frame): writer.write(frame)
          // static let no = 1
      """
    #expect(
      Self.numbers(in: source) == [
        "data = 1", "grid = 256", "limit = 1 << 56", "full = 1", "endOfSession = 2", "barrier = 9",
      ])
  }

  // MARK: The version

  @Test func theVersionIsThatOfTheNewestRelease() throws {
    let version = try TestStore.run(["--version"]).output
    let newest = try Changelog(Page(path: "CHANGELOG.md").text).releases.first
    #expect(version == "albumfs \(newest ?? "") (unknown commit)\n")
    // Its stores open for ever.
    #expect(
      FileManager.default.fileExists(atPath: Page.root.path + "/Tests/Fixtures/\(newest ?? "")"))
  }

  /// A build for users says of which commit it is; its bytes are those of the build otherwise.
  @Test func aProgramGetsItsCommitWithoutBeingBuiltAgain() throws {
    let place = TemporaryDirectory()
    let script = """
      set -e; cp "$0" "$1/albumfs"; "$2/scripts/version" "$1/albumfs"
      test "$("$1/albumfs" --version | cut -d' ' -f2)" = "$("$0" --version | cut -d' ' -f2)"
      "$1/albumfs" --version | grep -Fx "albumfs $("$0" --version | cut -d' ' -f2) ($("$2/scripts/version"))"
      test "$(stat -c %s "$0")" = "$(stat -c %s "$1/albumfs")"
      test "$(stat -c %a "$0")" = "$(stat -c %a "$1/albumfs")"
      test "$(cmp -l "$0" "$1/albumfs" | wc -l)" -lt 64
      """
    let outcome = try Command(
      "/bin/bash", ["-c", script, Command.builtPath("albumfs"), place.path, Page.root.path]
    ).run()
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }

  @Test(
    .enabled(
      if: FileManager.default.fileExists(atPath: Page.root.path + "/.git"), "needs the repository"))
  func anArchiveOfTheRepositoryKnowsItsCommit() throws {
    let place = TemporaryDirectory()
    let script = """
      set -e; cd "$0"; git archive HEAD scripts/version | tar -x -C "$1"
      commit=$("$1/scripts/version"); echo "$commit"
      test "${commit%%,*}" = "$(git log -1 --format='commit %h')"
      mkdir "$1/elsewhere"; cd "$1/elsewhere"; mkdir scripts; cp "$0/scripts/version" scripts
      test "$(scripts/version)" = 'unknown commit'
      """
    let outcome = try Command("/bin/bash", ["-c", script, Page.root.path, place.path]).run()
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}

/// CHANGELOG by its sections.
struct Changelog {
  private let sections: [(name: String, text: String)]

  init(_ text: String) {
    sections = text.components(separatedBy: "\n## ").dropFirst().map { section in
      (String(section.prefix { $0 != " " && $0 != "\n" }), section)
    }
  }

  /// The newest first.
  var releases: [String] { sections.map(\.name).filter { $0 != "Unreleased" } }

  /// What the section of a release lacks about an entry; nil if nothing. The first release has everything.
  func fault(of entry: String, in release: String) -> String? {
    guard let section = sections.first(where: { $0.name == release }) else {
      return "CHANGELOG has no section \(release)"
    }
    if release == releases.last { return nil }
    let words = entry.split(separator: " ").map(String.init).filter { $0 != "gone" }
    let names =
      switch words.first {
      case "option": words.filter { $0.hasPrefix("-") }
      case "format": [words[2]]
      default: [words.last ?? ""]
      }
    let isNamed = names.contains { name in
      section.text.split { !($0.isLetter || $0.isNumber || $0 == "-") }.contains { $0 == name }
    }
    return isNamed ? nil : "the section \(release) of CHANGELOG does not name it"
  }
}
