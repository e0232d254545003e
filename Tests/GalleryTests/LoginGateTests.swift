import Posix
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

  /// Attempts that end when a test says so.
  private final class Door: Sendable {
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([], rank: .test)
    let began = AsyncStream<Void>.makeStream()

    func pass() async {
      await withCheckedContinuation { next in
        waiting.withLock { $0.append(next) }
        began.continuation.yield()
      }
    }

    func open() { waiting.withLock { $0 }.forEach { $0.resume() } }
  }

  @Test func whoLeavesWhileOthersTryTakesNoTurn() async throws {
    let gate = LoginGate()
    let door = Door()
    let first = Task { try await gate.pass(.local) { await door.pass() } }
    var begun = door.began.stream.makeAsyncIterator()
    _ = await begun.next()
    // As often as a client may wait, and once more: nobody may, unless those who left are gone.
    for _ in 0..<17 {
      let guess = Task { try await gate.pass(.local) { throw Wrong() } }
      guess.cancel()
      await #expect(throws: CancellationError.self) { try await guess.value }
    }
    let last = Task { try await gate.pass(.local) { true } }
    door.open()
    try await first.value
    #expect(try await last.value)
  }

  @Test func aRefusalTakesNoLongerThanIsUsefulWhateverTheMachineDidAtTheStart() {
    var time = RefusalTime()
    #expect(time.floor == .milliseconds(500))
    // A server that starts while others keep the machine busy.
    time.measured(.seconds(11))
    #expect(time.floor == .seconds(4))
    time.measured(.milliseconds(400))
    #expect(time.floor == .seconds(1))
    // One slow attempt tells nobody anything about the next.
    time.measured(.seconds(9))
    #expect(time.floor == .seconds(1))
    for _ in 0..<8 { time.measured(.milliseconds(800)) }
    #expect(time.floor == .seconds(2))
    time.measured(.milliseconds(1))
    #expect(time.floor == .milliseconds(500))
  }
}
