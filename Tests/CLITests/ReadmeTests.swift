import AlbumTestSupport
import Foundation
import Testing

/// The README agrees with the program.
@Suite struct ReadmeTests {
  private let readme: String

  init() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
  }

  @Test func exitCodesAreThoseOfTheHelp() throws {
    let help = try TestStore.run(["--help"]).output
    let table = help.components(separatedBy: "EXIT CODES:\n")[1].components(separatedBy: "\n\n")[0]
    let lines = table.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    #expect(lines.count > 20)
    for line in lines {
      let parts = line.split(separator: " ", maxSplits: 1)
      let meaning = parts[1].trimmingCharacters(in: .whitespaces)
      #expect(readme.contains("| \(parts[0]) | \(meaning) |"), "\(line)")
    }
  }

  @Test func filesToReadAreThere() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let reading = try #require(readme.components(separatedBy: "## Where to start reading").last)
    let paths = reading.split(separator: "`").filter { $0.hasPrefix("Sources/") }
    #expect(paths.count >= 9)
    for path in paths {
      #expect(FileManager.default.fileExists(atPath: root.path + "/" + path), "\(path)")
    }
  }
}
