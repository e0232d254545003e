import Testing

@testable import Gallery

/// Guessing is slow, whatever the guesser does.
@Suite struct LoginGateTests {
  private struct Wrong: Error {}

  @Test func aGuesserWhoHangsUpWaitsAsLongAsOneWhoStays() async throws {
    let gate = LoginGate()
    let clock = ContinuousClock()
    let start = clock.now
    for _ in 0..<2 {
      let guess = Task { try await gate.pass(.local) { throw Wrong() } }
      guess.cancel()
      await #expect(throws: Wrong.self) { try await guess.value }
    }
    let end = try await gate.pass(.local) { clock.now }
    #expect(end - start >= .milliseconds(500 + 500 + 250), "the delays of two refusals")
  }
}
