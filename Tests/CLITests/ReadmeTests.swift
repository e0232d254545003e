import AlbumTestSupport
import Foundation
import Testing

/// README and the pages of the documentation agree with the program, the repository and one another.
@Suite struct ReadmeTests {
  /// README fits one sitting.
  @Test func readmeIsShort() throws {
    let lines = try Page.readme().text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 350)
  }

  @Test func exitCodesAreThoseOfTheHelp() throws {
    let help = try TestStore.run(["--help"]).output
    let table = help.components(separatedBy: "EXIT CODES:\n")[1].components(separatedBy: "\n\n")[0]
    let lines = table.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    #expect(lines.count > 20)
    let page = try Page.named("ExitCodes").text
    for line in lines {
      let parts = line.split(separator: " ", maxSplits: 1)
      let meaning = parts[1].trimmingCharacters(in: .whitespaces)
      #expect(page.contains("| \(parts[0]) | \(meaning) |"), "\(line)")
    }
  }

  @Test func filesToReadAreThere() throws {
    let design = try Page.named("Design").text
    let reading = try #require(design.components(separatedBy: "## Where to start reading").last)
    let paths = reading.split(separator: "`").filter { $0.hasPrefix("Sources/") }
    #expect(paths.count >= 9)
    for path in paths {
      #expect(FileManager.default.fileExists(atPath: Page.root.path + "/" + path), "\(path)")
    }
  }

  /// README shows eight rows of the bench, with the values that the page about speed has.
  @Test func speedIsThatOfTheWholeTable() throws {
    let whole = try Page.named("Speed").rows("bench table")
    let columns = try #require(whole.first)
    let shown = try Page.readme().rows("bench rows")
    #expect(shown.count == 9)
    let head = try #require(shown.first)
    for row in shown {
      let source = try #require(row[0] == head[0] ? columns : whole.first { $0[0] == row[0] })
      for (title, cell) in zip(head, row) {
        let place = try #require(columns.firstIndex(of: title))
        #expect(source[place] == cell, "\(row[0]), \(title)")
      }
    }
  }

  // MARK: Links

  /// A link leads to a file, and its anchor to a heading of that file.
  @Test func everyLinkLeadsSomewhere() throws {
    var count = 0
    for page in try Page.all() {
      for link in page.links {
        count += 1
        let broken = try Page.problem(of: link, in: page)
        #expect(broken == nil, "\(page.path): \(link): \(broken ?? "")")
      }
    }
    #expect(count > 80)
  }

  /// A forge and an editor show a link of DocC's own kind as plain text. `scripts/documentation` writes them.
  @Test func noLinkIsForDocCAlone() throws {
    for page in try Page.all() {
      for words in ["<doc:", "](doc:"] {
        #expect(!page.text.contains(words), "\(page.path) has a link \(words)")
      }
    }
  }

  @Test(
    .enabled(
      if: Page.hasDocC,
      "needs docc, which comes with Swift"))
  func docCFindsEveryLinkAndPicture() throws {
    let place = TemporaryDirectory()
    let made = try Command(Page.root.path + "/scripts/documentation", [place.path + "/web"]).run()
    #expect(made.code == 0, "\(made.output)\(made.errors)")
    for page in try Page.all() where page.path != "README.md" {
      let name = ((page.path as NSString).lastPathComponent as NSString).deletingPathExtension
      let file = "\(place.path)/web/data/documentation/albumfs/\(name.lowercased()).json"
      let shown = try String(contentsOfFile: file, encoding: .utf8)
      #expect(!shown.contains(/"url":"[^"]*\.md[#"]/), "\(name) links to a file")
    }
  }

  /// Who reads README finds every page.
  @Test func readmeLeadsToEveryPage() throws {
    let links = Set(try Page.readme().links.map { $0.components(separatedBy: "#")[0] })
    for page in try Page.all() where page.path != "README.md" {
      #expect(links.contains(page.path), "README does not name \(page.path)")
    }
  }

  // MARK: Verbs and options

  @Test func everyVerbAndOptionIsDocumentedOnce() throws {
    let verbs = try Verb.all()
    #expect(verbs.count > 20)
    let page = try Page.named("Commands")
    let rows = try page.rows("verbs").dropFirst()
    let shared = try page.rows("shared options").dropFirst()
    let common = shared.flatMap { $0[0].codeSpans.map(\.firstWord) }
    #expect(Set(common).count == common.count)
    for verb in verbs {
      let own = rows.filter { $0[0].codeSpans.first.map(verb.isShown) ?? false }
      #expect(own.count == 1, "\(verb.name) has \(own.count) rows")
      let options = (own.first?[2] ?? "").codeSpans.map(\.firstWord)
      for names in verb.options {
        let found = (options + common).filter(names.contains)
        #expect(found.count == 1, "\(verb.name) \(names) is documented \(found.count) times")
      }
      let known = Set(verb.options.joined())
      #expect(known.isSuperset(of: options), "\(verb.name) has none of \(options)")
    }
    #expect(rows.count == verbs.count)
    for row in shared {
      for option in row[0].codeSpans.map(\.firstWord) {
        let having = Set(verbs.filter { $0.options.joined().contains(option) }.map(\.name))
        #expect(having.count > 1, "\(option) is of \(having)")
        let named = Set(row[1].codeSpans)
        #expect(named.isEmpty || named == having, "\(option) is of \(having)")
      }
    }
  }

  /// The man page of a verb is made of these texts.
  @Test func everyOptionIsExplainedByTheProgram() throws {
    for verb in try Verb.all() { #expect(verb.unexplained == [], "\(verb.name)") }
  }

  @Test func readmeHasEveryVerbOnce() throws {
    let shown = try Page.readme().rows("verbs").dropFirst().flatMap { $0[0].codeSpans }
    #expect(shown.sorted() == (try Verb.all().map(\.name).sorted()))
  }

  // MARK: Man pages

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/man"), "needs man"))
  func manPagesHaveNoWarnings() throws {
    let directory = TemporaryDirectory()
    let script = """
      set -e; "$0" "$1" "$2"; cd "$2"
      test "$(ls *.7 | wc -l)" = 6; ! grep -e 'doc:' -e ']([A-Z]' *.7
      # A link to another man page names it, and its section.
      grep -qF 'albumfs\\-deniability(7), Times' albumfs-owners.7
      for page in *; do MANWIDTH=80 man -l --warnings -E UTF-8 ./$page 2>&1 > /dev/null; done
      """
    let outcome = try Command(
      "/bin/bash",
      [
        "-c", script, Page.root.path + "/scripts/manual", Command.builtPath("albumfs"),
        directory.path,
      ]
    ).run()
    #expect(outcome.code == 0)
    #expect(outcome.output + outcome.errors == "")
  }
}
