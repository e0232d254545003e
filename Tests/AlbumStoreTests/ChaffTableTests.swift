import Foundation
import Testing

@testable import AlbumStore

/// The figures about chaff in Deniability.md must equal those of the rule.
@Suite struct ChaffTableTests {
  /// Returns the cells of the table between two marks, without its head.
  private func table(_ mark: String) throws -> [[String]] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appendingPathComponent("Sources/albumfs/Documentation.docc/Deniability.md"),
      encoding: .utf8)
    let after = try #require(page.components(separatedBy: "<!-- \(mark) -->\n").dropFirst().first)
    let lines = after.components(separatedBy: "<!-- /\(mark) -->")[0].split(separator: "\n")
    return lines.dropFirst(2).map { line in
      line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  private func percent(_ share: Double) -> String {
    if share == 0 { return "none" }
    let value = share * 100
    if value < 0.01 { return "less than 0.01 %" }
    let digits = value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2
    return String(format: "%.\(digits)f %%", value)
  }

  private func numbers(_ text: String) -> [Int] {
    text.split { !$0.isNumber }.compactMap { Int($0) }
  }

  @Test func `the chaff of new stores`() throws {
    let limits = [64, 256].map {
      ChaffRule.limitAtBirth(availableBytes: Int64($0) << 30, segmentSize: 4 << 20)
    }
    let rows = try table("chaff at birth")
    #expect(rows.count == 8)
    for row in rows.dropLast() {
      let count = try #require(numbers(row[0]).first)
      #expect(
        row[1...] == limits.map { percent(ChaffRule.shareAtBirth(atLeast: count, limit: $0)) }[...])
    }
    let means = limits.map { limit in
      (1...limit).reduce(0) { $0 + ChaffRule.shareAtBirth(atLeast: $1, limit: limit) }
    }
    #expect(rows[7][1...] == means.map { "\(Int($0.rounded())) segments" }[...])
  }

  @Test func `the differences between two copies`() throws {
    let rows = try table("chaff between copies")
    #expect(rows.count == 5)
    for row in rows {
      let given = numbers(row[0])
      let shares = [1, 4, 8, 16, 32, 64].map {
        ChaffOdds.shareOfAdditions(atLeast: $0, sessions: given[0], segments: given[1])
      }
      #expect(row[1...] == shares.map(percent)[...])
    }
  }
}
