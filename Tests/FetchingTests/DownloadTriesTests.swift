import Testing

@testable import Fetching

/// An import goes on as long as a server brings more, and ends where it does not.
@Suite struct DownloadTriesTests {
  private static func head(total: Int64?) -> FetchHead {
    var head = FetchHead()
    head.total = total
    return head
  }

  /// How many attempts there are, of which each ends where `sizes` says.
  private static func attempts(
    _ fault: FetchFault = .broken, total: Int64? = nil, replies: Bool = true, _ size: (Int) -> Int64
  ) -> Int {
    var tries = DownloadTries(from: 0)
    for number in 1...1000 {
      tries.count(fault, at: size(number), of: replies ? head(total: total) : nil)
      if tries.areOver { return number }
    }
    return 1000
  }

  @Test func aServerThatBreaksOffAtAnotherPlaceEachTimeIsGivenUp() {
    #expect(Self.attempts { [100_000, 200_000][$0 % 2] } == 6)
    #expect(Self.attempts { [900_000, 500_000, 700_000][$0 % 3] } == 8)
  }

  @Test func aServerThatSendsAFewBytesEachTimeIsGivenUp() {
    #expect(Self.attempts { Int64($0) * 10 } == 5)
    #expect(Self.attempts(total: 8 << 30) { Int64($0) * 1000 } == 5)
  }

  @Test func aServerThatIsSlowOrSilentIsAskedTwice() {
    #expect(Self.attempts(.slow) { _ in 500 } == 2)
    #expect(Self.attempts(.unreachable, replies: false) { _ in 0 } == 2)
  }

  @Test func aFileGrowsFromAttemptToAttemptButNotForEver() {
    #expect(Self.attempts { Int64($0) << 20 } == 100)
    // A small file comes in small parts.
    #expect(Self.attempts(total: 300_000) { Int64($0) * 20_000 } == 100)
  }
}
