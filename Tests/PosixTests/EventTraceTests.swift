import AlbumModel
import AlbumTestSupport
import Posix
import Testing

/// A trace says what happened, and never holds up whom it watches.
@Suite(.timeLimit(.minutes(10))) struct EventTraceTests {
  /// A sink that takes lines only while its gate is open.
  private final class Gate: Sendable {
    private struct State {
      var isOpen = false
      var isReached = false
      var lines: [String] = []
    }
    private let state = Monitor(State(), rank: .test)

    func take(_ line: String) {
      state.withLock { $0.isReached = true }
      state.notifyAll()
      state.waiting { $0.isOpen ? () : nil }
      state.withLock { $0.lines.append(line) }
    }

    func open() {
      state.withLock { $0.isOpen = true }
      state.notifyAll()
    }

    func waitForTheFirst() { state.waiting { $0.isReached ? () : nil } }
    var lines: [String] { state.withLock { $0.lines } }
  }

  @Test func aLineHasTheTimeTheAreaTheEventAndItsDuration() throws {
    let gate = Gate()
    gate.open()
    let trace = try EventTrace { gate.take($0) }
    let tracer = trace.area("journal")
    let begin = tracer.now
    tracer.record("frame number=7", since: begin)
    tracer.record("began")
    trace.stop()
    let time = #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"#
    let first = try Regex("^\(time) journal frame number=7 us=[0-9]+$")
    let second = try Regex("^\(time) journal began$")
    #expect(gate.lines.count == 2)
    #expect(try first.firstMatch(in: gate.lines[0]) != nil, "\(gate.lines)")
    #expect(try second.firstMatch(in: gate.lines[1]) != nil, "\(gate.lines)")
  }

  @Test func aSinkThatTakesNothingHoldsNobodyUpAndWhatIsLostIsCounted() throws {
    let gate = Gate()
    let trace = try EventTrace { gate.take($0) }
    let tracer = trace.area("fuse")
    tracer.record("first")
    gate.waitForTheFirst()
    // The trace's thread has one line in its hands, and the buffer is empty.
    for number in 0..<EventTrace.limit + 5 { tracer.record("event number=\(number)") }
    gate.open()
    trace.stop()
    let lines = gate.lines
    #expect(lines.count == 1 + EventTrace.limit + 1)
    #expect(lines[EventTrace.limit].hasSuffix("event number=\(EventTrace.limit - 1)"))
    #expect(lines.last?.hasSuffix(" trace lost events=5") ?? false, "\(lines.last ?? "")")
  }

  @Test func linesThatTheDiskRefusesAreCounted() throws {
    let taken = Monitor([String](), rank: .test)
    let trace = try EventTrace { line throws(Errno) in
      if line.contains("bad") { throw Errno.noSpace }
      taken.withLock { $0.append(line) }
    }
    trace.area("journal").record("bad")
    trace.area("journal").record("good")
    trace.stop()
    let lines = taken.withLock { $0 }
    #expect(lines.contains { $0.hasSuffix("journal good") })
    #expect(lines.contains { $0.hasSuffix("trace lost events=1") }, "\(lines)")
  }

  @Test func anEndWaitsForNoSinkThatIsStuck() throws {
    let gate = Gate()
    let trace = try EventTrace { gate.take($0) }
    trace.area("fuse").record("event")
    trace.stop()
    #expect(gate.lines.isEmpty)
    gate.open()
  }

  /// Whoever makes a file chooses its name.
  @Test(arguments: [
    ("plain name.jpg", #""plain name.jpg""#), ("ü\u{1F4F7}", "\"ü\u{1F4F7}\""),
    ("a\" errno=0", #""a\x22 errno=0""#), ("a\nb\\c\u{1B}", #""a\x0Ab\x5Cc\x1B""#),
  ])
  func aNameStaysInItsQuotes(name: String, shown: String) {
    #expect(EventTracer.quoted(name.utf8) == shown)
  }

  @Test func bytesThatAreNoTextAreShownAsNumbers() {
    #expect(EventTracer.quoted([0x61, 0xE9, 0x62]) == #""a\xE9b""#)
  }

  // MARK: Locks without waiting

  @Test func aLockThatAThreadHoldsIsSeenWithItsThreadAndNotWaitedFor() throws {
    let mutex = SharedMutex()
    #expect(mutex.value.held(as: "one") == nil)
    #expect(mutex.value.withLockIfFree { $0 } == 1)
    let steps = Monitor(0, rank: .test)
    let number = Monitor(Int32(0), rank: .test)
    let thread = try PosixThread(name: "holder") {
      mutex.value.withLock { _ in
        number.withLock { $0 = PosixThread.number }
        steps.withLock { $0 = 1 }
        steps.notifyAll()
        steps.waiting { $0 == 2 ? () : nil }
      }
    }
    steps.waiting { $0 == 1 ? () : nil }
    #expect(mutex.value.held(as: "one")?.thread == number.withLock { $0 })
    #expect(mutex.value.withLockIfFree { $0 } == nil)
    // Another thread waits for it.
    let waiter = try PosixThread(name: "waiter") { mutex.value.withLock { $0 += 1 } }
    #expect(
      eventually {
        let waiting = mutex.value.held(as: "one")?.waiters ?? []
        return ThreadState.all().contains { $0.name == "waiter" && waiting == [$0.number] }
      })
    let threads = ThreadState.all()
    #expect(threads.contains { $0.name == "holder" && $0.number == number.withLock { $0 } })
    steps.withLock { $0 = 2 }
    steps.notifyAll()
    thread.join()
    waiter.join()
    #expect(mutex.value.held(as: "one") == nil)
    #expect(mutex.value.withLockIfFree { $0 } == 2)
  }

  private final class SharedMutex: Sendable { let value = Mutex(1, rank: .catalog) }
}
