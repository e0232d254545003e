import AlbumModel
import AlbumTestSupport
import FileKinds
import Foundation
import Logging
import Posix
import Testing
import ThumbnailProtocol
import Thumbnails

/// The queue with real workers: every photo gets its answer, whatever the one before did.
@Suite(.serialized)
struct ThumbnailQueueTests {
  private let picture: [UInt8]

  init() throws { picture = try TestPictures.encode(TestPictures.pixels(), as: "jpg[Q=90]") }

  private func queue(
    _ source: TestSource, workers: Int = 1, _ change: (inout WorkerLaunch) -> Void = { _ in }
  ) throws -> ThumbnailQueue {
    var launch = TestWorker.launch
    change(&launch)
    return try ThumbnailQueue(
      source: source, launch: launch, workers: workers, logger: Logger(label: "test"))
  }

  private func isThumbnail(_ answer: TestSource.Answer?) -> Bool {
    if case .thumbnail(let bytes) = answer { return ImageKind(sniffing: bytes) == .jpeg }
    return false
  }

  @Test("Photos that wait before the start, and those that come later, get their thumbnails")
  func ordinary() throws {
    let source = TestSource()
    for number in 1...6 { source.add(UInt64(number), picture) }
    let queue = try queue(source, workers: 2)
    #expect(queue.unavailability == nil)
    for number in 1...6 { #expect(isThumbnail(source.awaitAnswer(for: UInt64(number)))) }
    source.add(7, picture)
    queue.wake()
    #expect(isThumbnail(source.awaitAnswer(for: 7)))
    queue.stop()
    queue.stop()
  }

  @Test(
    "Copies go first: no picture is begun while they take the processors, and none is forgotten")
  func copies() throws {
    let source = TestSource()
    source.setCopying(true)
    for number in 1...4 { source.add(UInt64(number), picture) }
    let queue = try queue(source, workers: 2) { $0.processors = "/var/empty/stat" }
    #expect(eventually { source.looksAtCopies > 20 })
    for number in 1...4 { #expect(source.attempts(at: UInt64(number)) == 0) }
    source.setCopying(false)
    for number in 1...4 { #expect(isThumbnail(source.awaitAnswer(for: UInt64(number)))) }
    queue.stop()
  }

  @Test("A copy that leaves processors idle shares them for a second, then they look again")
  func slowCopies() throws {
    let directory = TemporaryDirectory()
    let file = "\(directory.path)/stat"
    func count(busy: Int, idle: Int) throws {
      try Data("cpu  \(busy) 0 0 \(idle) 0 0 0 0 0 0\ncpu0 1 0 0 1\n".utf8)
        .write(to: URL(fileURLWithPath: file))
    }
    let precedence = CopyPrecedence(processors: file)
    var now = MonotonicTime.now
    func holds(after milliseconds: Int64, isCopying: Bool = true) -> Bool {
      now = now + .milliseconds(milliseconds)
      return precedence.holds(isCopying: isCopying, now: now)
    }
    #expect(!holds(after: 0, isCopying: false))
    try count(busy: 1000, idle: 1000)
    #expect(holds(after: 0), "nothing is known yet")
    try count(busy: 1020, idle: 1000)
    #expect(holds(after: 100), "no processor was idle")
    try count(busy: 1020, idle: 1020)
    #expect(holds(after: 50), "a look takes longer")
    #expect(!holds(after: 50), "all were idle")
    try count(busy: 1200, idle: 1020)
    #expect(!holds(after: 900))
    #expect(holds(after: 200), "the turn is over")
    try count(busy: 1220, idle: 1020)
    #expect(holds(after: 100))
    #expect(!holds(after: 1, isCopying: false), "the copy is over")
    try count(busy: 10, idle: 10)
    #expect(holds(after: 1))
    #expect(holds(after: 100), "counts that go back say nothing")
  }

  @Test(
    "A worker that crashes, exhausts memory or sends nonsense costs one photo its thumbnail",
    arguments: [
      "crash", "hungry", "babble", "overlong", "wrong-id", "cut-short", "flooding", "text", "huge",
      "telling", "other-door",
    ])
  func misbehaviour(_ word: String) throws {
    if word == "hungry", Sanitizer.isOn { return }
    let source = TestSource()
    source.add(1, picture)
    source.add(2, Misbehaving.picture(word))
    source.add(3, picture)
    let queue = try queue(source) { $0.memory = 1 << 30 }
    #expect(isThumbnail(source.awaitAnswer(for: 1)))
    #expect(source.awaitAnswer(for: 2) == .failed(.workerDied))
    #expect(isThumbnail(source.awaitAnswer(for: 3)))
    queue.stop()
  }

  @Test("A worker that hangs is killed at its deadline, and the next photo works")
  func hang() throws {
    let source = TestSource()
    source.add(1, Misbehaving.picture("hang"))
    source.add(2, picture)
    let queue = try queue(source) { $0.longAllowance = .seconds(2) }
    #expect(source.awaitAnswer(for: 1) == .failed(.timedOut))
    #expect(isThumbnail(source.awaitAnswer(for: 2)))
    queue.stop()
  }

  @Test("Stopping does not wait for a worker that hangs, and its photo stays unanswered")
  func stopWhileHanging() throws {
    let source = TestSource()
    let hanging = Misbehaving.picture("hang")
    source.add(1, hanging)
    let queue = try queue(source)
    #expect(eventually { source.bytesRead(of: 1) >= hanging.count })
    queue.stop()
    #expect(source.answer(for: 1) == nil)
  }

  @Test(
    "Text and films are recognised by their first bytes and never streamed, whatever their length")
  func notAPicture() throws {
    let source = TestSource()
    source.add(1, Array(repeating: UInt8(ascii: "x"), count: 3 << 20))
    source.add(2, [])
    source.add(3, [0xff])
    let queue = try queue(source) { $0.program = "/nonexistent" }
    for number in 1...3 {
      #expect(source.awaitAnswer(for: UInt64(number)) == .failed(.notAPicture))
    }
    #expect(source.bytesRead(of: 1) <= 64 << 10)
    queue.stop()
  }

  @Test("A picture above 512 MiB is too large, a film of that size is no picture")
  func tooLarge() throws {
    let source = TestSource()
    source.add(1, picture + [UInt8](repeating: 0, count: 1 << 16), claimedSize: 513 << 20)
    source.add(2, [UInt8](repeating: 1, count: 1 << 17), claimedSize: 1 << 40)
    let queue = try queue(source)
    #expect(source.awaitAnswer(for: 1) == .failed(.tooLarge))
    #expect(eventually { source.attempts(at: 1) > 0 })
    queue.stop()
  }

  @Test("A photo that changes under way is dropped, and the next works")
  func changes() throws {
    let large = try TestPictures.encode(
      TestPictures.pixels(width: 1600, height: 1200), as: "tif")
    let source = TestSource()
    source.add(1, large, changesAt: 2 << 20)
    source.add(2, large)
    let queue = try queue(source)
    #expect(isThumbnail(source.awaitAnswer(for: 2)))
    #expect(source.isGone(1))
    #expect(source.answer(for: 1) == nil)
    queue.stop()
  }

  @Test(
    "A source that reads in small parts gives the same thumbnail", arguments: [17, 1000, 65536])
  func smallReads(_ limit: Int) throws {
    let noisy = try TestPictures.encode(
      TestPictures.pixels(width: 1000, height: 700), as: "png[compression=0]")
    let whole = TestSource()
    let parts = TestSource(readLimit: limit)
    let few = limit < 1000 ? picture : noisy
    for source in [whole, parts] {
      source.add(1, few)
      let queue = try queue(source)
      #expect(isThumbnail(source.awaitAnswer(for: 1)))
      queue.stop()
    }
    #expect(whole.answer(for: 1) == parts.answer(for: 1))
  }

  @Test("Without the program everything stays pending, and the queue has the reason")
  func missing() throws {
    let source = TestSource()
    source.add(1, picture)
    let queue = try queue(source) { $0.program = "/nonexistent/albumfs-thumbnailer" }
    #expect(
      queue.unavailability == .notStarted(program: "/nonexistent/albumfs-thumbnailer", .noEntry))
    #expect(eventually { source.attempts(at: 1) > 0 })
    queue.stop()
    #expect(source.answer(for: 1) == nil)
  }

  @Test("A program that ends as it starts fails no photo")
  func endsAtOnce() throws {
    let source = TestSource()
    source.add(1, picture)
    let queue = try queue(source) { $0.program = "/bin/true" }
    #expect(queue.unavailability == nil)
    #expect(eventually { queue.unavailability != nil })
    queue.stop()
    #expect(source.answer(for: 1) == nil)
  }
}
