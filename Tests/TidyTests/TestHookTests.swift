import Foundation
import Testing

// Sources/Posix/TestHooks.swift lists what production code has for tests.

struct TestHookTests {
  private static let list = "Posix/TestHooks.swift"

  @Test func onlyTheListReadsVariablesOfTests() throws {
    for (path, text) in sourceFiles(under: "Sources") where path != TestHookTests.list {
      #expect(!text.contains("ALBUMFS_TESTS_"), "\(path) names a variable of tests")
    }
  }

  /// Files that tests and scripts run set no variable that nothing reads.
  @Test func everyVariableThatTestsSetIsInTheList() throws {
    let list = try #require(sourceFiles(under: "Sources")[TestHookTests.list])
    let name = /ALBUMFS_TESTS_[A-Z0-9_]*[A-Z0-9]/
    let listed = Set(list.matches(of: name).map { String($0.output) })
    #expect(listed.count > 3)
    for (path, text) in sourceFiles(under: "Tests") where !path.hasPrefix("TidyTests/") {
      for match in text.matches(of: name) {
        #expect(listed.contains(String(match.output)), "\(path) sets \(match.output)")
      }
    }
  }

  /// Each delay that tests can change is one of albumfs, and a test changes it. Only debug builds read any.
  @Test func everyDelayIsUsedAndChanged() throws {
    let sources = sourceFiles(under: "Sources")
    let list = try #require(sources[TestHookTests.list])
    let cases = try #require(list.split(separator: "enum Delay: ").dropFirst().first)
    let body = try #require(cases.split(separator: "\n  }").first)
    let names = body.matches(of: /\n    case (.+)/).flatMap {
      $0.1.split(separator: ", ").map { $0.split(separator: " = ") }
    }
    #expect(names.count > 5)
    let code = sources.filter { $0.key != TestHookTests.list }.values.joined()
    let tests = sourceFiles(under: "Tests").values.joined()
    for name in names {
      #expect(code.contains("TestHooks.delay(.\(name[0]), "), "\(name[0]) is no delay of albumfs")
      let text = name.last!.replacing("\"", with: "")
      #expect(
        tests.contains("\"\(text)=") || tests.contains(",\(text)="), "no test changes \(text)")
    }
    let uses = list.matches(of: /#if DEBUG[^#]*delays/)
    #expect(uses.count == 2)
  }

  /// A file that says it has something for tests is in the table, and a file of the table exists.
  @Test func everyHookIsInTheTable() throws {
    let files = sourceFiles(under: "Sources")
    let list = try #require(files[TestHookTests.list])
    let rows = Set(list.matches(of: /\n\/\/ \| (\w+) +\|/).map { String($0.1) }).subtracting([
      "file"
    ])
    #expect(rows.count > 10)
    var hooks: Set<String> = ["TestHooks"]
    for (path, text) in files {
      let isHook = text.split(separator: "\n").contains { line in
        // Most lines have none of these words, and the pattern is slow.
        guard line.contains("tests") || line.contains("harness") else { return false }
        return line.contains(
          /\/\/.*(?:[Ff]or tests\b|crash harness|[Ff]or disks of tests)|"For tests:/)
      }
      if isHook {
        hooks.insert(URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent)
      }
    }
    #expect(hooks.subtracting(rows).sorted() == [], "hooks that the table does not have")
    #expect(rows.subtracting(hooks).sorted() == [], "the table has files without a hook")
  }
}
