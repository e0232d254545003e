import Foundation
import Testing

// Tests wait for events, never for a time: see Tests/AlbumTestSupport/Waiting.swift.

struct WaitingTests {
  private static let helpers = ["AlbumTestSupport/Waiting.swift", "Waiting/"]

  /// What no test runs: measurements, the runner of the tests, the maker of the old stores, and the page's tests
  /// that a person starts.
  private static func isOther(_ path: String) -> Bool {
    path.contains(
      /^(Bench|Fixtures|Suite)\/|^GalleryPageTests\/(test_page|mock_server|readme_pictures)\.py$/)
  }

  /// Sleeping for a time, in Swift, in a script or in Python. A process that stays (`sleep infinity`) waits for
  /// nothing.
  private static func sleeps(_ line: Substring) -> Bool {
    line.contains("sleep") && line.contains(/sleep\(|\bsleep\s+[0-9.$\\]/)
      || line.contains("wait_for_timeout(")
  }

  @Test func onlyTheHelpersOfTestsSleep() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().path
    let files = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
    var (read, helping) = (0, 0)
    for path in files where !path.hasPrefix("TidyTests/") && !WaitingTests.isOther(path) {
      guard let text = try? String(contentsOfFile: "\(root)/\(path)", encoding: .utf8) else {
        continue
      }
      read += 1
      // Most files have none of these words, and the pattern is slow.
      if !text.contains("sleep"), !text.contains("wait_for_timeout") { continue }
      let lines = text.split(separator: "\n").filter(WaitingTests.sleeps)
      if WaitingTests.helpers.contains(where: path.hasPrefix) {
        helping += lines.count
      } else {
        #expect(lines == [], "\(path) waits for a time")
      }
    }
    #expect(read > 200 && helping > 3)
  }

  @Test func theRuleKnowsEveryKindOfSleep() {
    for line in [
      "usleep(10_000)", "time.sleep(2)", "sleep 0.1; done", "SystemClock.sleep(milliseconds: 3)",
      "exec sleep 60", "sleep \\(seconds)", "try await Task.sleep(for: .seconds(1))",
      "page.wait_for_timeout(300)", "sleep $pause",
    ] {
      #expect(WaitingTests.sleeps(line[...]), "\(line)")
    }
    for line in ["exec sleep infinity", "It goes to sleep.", "await test -e $W/made"] {
      #expect(!WaitingTests.sleeps(line[...]), "\(line)")
    }
  }
}
