import AlbumModel
import AlbumTestSupport
import Foundation
import Logging
import Posix
import Testing
import ThumbnailProtocol
import Thumbnails

/// Slow pictures do not delay fast ones.
@Suite(.serialized)
struct PatienceTests {
  private let picture: [UInt8]

  init() throws { picture = try TestPictures.encode(TestPictures.pixels(), as: "jpg[Q=90]") }

  private func queue(
    _ source: TestSource, workers: Int = 1, long: Duration = .seconds(10_000)
  ) throws -> ThumbnailQueue {
    var launch = TestWorker.launch
    launch.firstAllowance = .seconds(1)
    launch.longAllowance = long
    return try ThumbnailQueue(
      source: source, launch: launch, workers: workers, logger: Logger(label: "test"))
  }

  private func isThumbnail(_ answer: TestSource.Answer?) -> Bool {
    if case .thumbnail = answer { return true }
    return false
  }

  @Test(
    "Six pictures that take for ever do not hold up 60 good ones; removed, they end",
    arguments: [1, 2])
  func hostile(_ workers: Int) throws {
    let source = TestSource()
    for number: UInt64 in 1...6 {
      source.add(number, Misbehaving.picture(number % 2 == 0 ? "spinning" : "hang"))
    }
    for number: UInt64 in 101...160 { source.add(number, picture) }
    let queue = try queue(source, workers: workers)
    for number: UInt64 in 101...160 {
      #expect(isThumbnail(source.awaitAnswer(for: number)), "\(number)")
    }
    for number: UInt64 in 1...6 { #expect(source.answer(for: number) == nil) }
    // One of them is in a long attempt now. Others that come are made at the same time.
    for number: UInt64 in 201...205 { source.add(number, picture) }
    queue.wake()
    for number: UInt64 in 201...205 { #expect(isThumbnail(source.awaitAnswer(for: number))) }
    for number: UInt64 in 1...6 { source.remove(number) }
    for number: UInt64 in 1...6 {
      #expect(source.awaitGone(number), "the decode of \(number) goes on though it was removed")
    }
    queue.stop()
    for number: UInt64 in 1...6 { #expect(source.answer(for: number) == nil) }
  }

  @Test("A picture that needs more than a first attempt gets its time when nothing else waits")
  func second() throws {
    let source = TestSource()
    source.add(1, Misbehaving.picture("slow"))
    source.add(2, picture)
    let queue = try queue(source, long: .seconds(100))
    #expect(isThumbnail(source.awaitAnswer(for: 2)))
    // The queue waited for it: the end of its work is an answer, and no timeout.
    #expect(source.awaitAnswer(for: 1) == .failed(.damaged))
    queue.stop()
  }

  @Test("A long attempt ends at its limit too, and the next one begins")
  func given() throws {
    let source = TestSource()
    source.add(1, Misbehaving.picture("spinning"))
    source.add(2, Misbehaving.picture("hang"))
    let queue = try queue(source, long: .seconds(2))
    #expect(source.awaitAnswer(for: 1) == .failed(.timedOut))
    #expect(source.awaitAnswer(for: 2) == .failed(.timedOut))
    queue.stop()
  }

  @Test("A first attempt ends, too, when its photo goes")
  func removedAtFirst() throws {
    let source = TestSource()
    source.add(1, Misbehaving.picture("hang"))
    var launch = TestWorker.launch
    launch.firstAllowance = .seconds(10_000)
    launch.longAllowance = .seconds(10_000)
    let queue = try ThumbnailQueue(
      source: source, launch: launch, workers: 1, logger: Logger(label: "test"))
    #expect(eventually { source.bytesRead(of: 1) > 0 })
    source.remove(1)
    #expect(source.awaitGone(1))
    source.add(2, picture)
    queue.wake()
    #expect(isThumbnail(source.awaitAnswer(for: 2)))
    queue.stop()
  }

  @Test("Stopping does not wait for a long attempt")
  func stop() throws {
    let source = TestSource()
    source.add(1, Misbehaving.picture("spinning"))
    source.add(2, picture)
    let queue = try queue(source)
    #expect(isThumbnail(source.awaitAnswer(for: 2)))
    #expect(eventually { source.attempts(at: 1) == 2 })
    queue.stop()
    #expect(source.answer(for: 1) == nil)
  }

  @Test(
    "More threads than any decoder starts are the end of a worker, where the kernel does not bound them"
  )
  func threads() throws {
    let source = TestSource()
    source.add(1, Misbehaving.picture("threads"))
    source.add(2, picture)
    var launch = TestWorker.launch
    launch.hidesNamespaces = true
    launch.firstAllowance = .seconds(10_000)
    let queue = try ThumbnailQueue(
      source: source, launch: launch, workers: 1, logger: Logger(label: "test"))
    #expect(source.awaitAnswer(for: 1) == .failed(.workerDied))
    #expect(isThumbnail(source.awaitAnswer(for: 2)))
    queue.stop()
  }

  @Test(
    "A worker whose threads are neither bounded nor seen decodes nothing; one that is bounded does",
    arguments: [true, false])
  func hiddenThreads(_ isBounded: Bool) throws {
    if isBounded, try !KernelFeatures.shared.get().hasUserNamespaces { return }
    let source = TestSource()
    source.add(1, picture)
    var launch = TestWorker.launch
    launch.hidesNamespaces = !isBounded
    launch.processes = "/var/empty"
    let queue = try ThumbnailQueue(
      source: source, launch: launch, workers: 1, logger: Logger(label: "test"))
    if isBounded {
      #expect(isThumbnail(source.awaitAnswer(for: 1)))
      #expect(queue.unavailability == nil)
    } else {
      #expect(eventually { queue.unavailability != nil })
      #expect(source.answer(for: 1) == nil, "it waits for a mount that can confine it")
    }
    queue.stop()
  }

  @Test("Waiting for the processor costs a picture nothing; using it, or waiting for nothing, does")
  func charges() {
    #expect(Attempt.charge(passed: 100, used: 0, wantsProcessor: true) == 0)
    #expect(Attempt.charge(passed: 100, used: 3, wantsProcessor: true) == 3)
    #expect(Attempt.charge(passed: 100, used: 0, wantsProcessor: false) == 100)
    #expect(Attempt.charge(passed: 100, used: 95, wantsProcessor: false) == 95)
    #expect(Attempt.charge(passed: 100, used: 400, wantsProcessor: true) == 400)
  }

  @Test("A worker starves that wants the processor and gets less than half of it")
  func starving() {
    #expect(Attempt.isStarved(passed: 100, used: 0, wantsProcessor: true))
    #expect(Attempt.isStarved(passed: 100, used: 49, wantsProcessor: true))
    #expect(!Attempt.isStarved(passed: 100, used: 50, wantsProcessor: true))
    #expect(!Attempt.isStarved(passed: 100, used: 0, wantsProcessor: false))
  }

  /// The number of running workers with this mark among their arguments and this share.
  private func workers(_ mark: String, _ share: ProcessorShare) throws -> Int {
    let wanted = ["--memory", mark, "--share", String(share.rawValue)]
    return ProcessState.all().count { process in
      let line = (try? readWholeFile("/proc/\(process)/cmdline")) ?? []
      let words = Set(line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
      return words.isSuperset(of: wanted)
    }
  }

  /// Waits for such a worker, for five minutes at most.
  private func awaitWorker(_ mark: String, _ share: ProcessorShare) throws -> Bool {
    try eventually { try workers(mark, share) > 0 }
  }

  @Test("Beside programs that take the processor, a picture that becomes urgent gets its share")
  func busyMachine() throws {
    let busy = try (0..<2 * ThumbnailQueue.defaultWorkerCount).map { _ in
      // Ends with the tests, however they end.
      try Subprocess.start(
        ["sh", "-c", "while [ -d /proc/\(getpid()) ]; do :; done"], isolated: true)
    }
    defer {
      for process in busy {
        kill(process, SIGKILL)
        _ = try? Subprocess.wait(process)
      }
    }
    let source = TestSource()
    source.setShare(.leftover)
    source.add(1, Misbehaving.picture("spinning"))
    var launch = TestWorker.launch
    // A mark of this run.
    launch.memory = 1 << 30 + UInt64(getpid())
    launch.firstAllowance = .seconds(10_000)
    launch.longAllowance = .seconds(10_000)
    let queue = try ThumbnailQueue(
      source: source, launch: launch, workers: 1, logger: Logger(label: "test"))
    let mark = String(launch.memory)
    try #require(try awaitWorker(mark, .leftover))
    source.setShare(.ordinary)
    #expect(try awaitWorker(mark, .ordinary))
    #expect(try workers(mark, .leftover) == 0)
    queue.stop()
  }
}
