import AlbumModel
import AlbumTestSupport
import Foundation
import Logging
import Testing
import ThumbnailProtocol
import Thumbnails

/// The queue's side of videos: which program gets them, and what becomes of one that asks for too much.
@Suite(.serialized)
struct VideoQueueTests {
  private func queue(_ source: TestSource, _ videos: WorkerLaunch?) throws -> ThumbnailQueue {
    try ThumbnailQueue(
      source: source, launch: TestWorker.launch, videos: videos, workers: 1,
      logger: Logger(label: "test"))
  }

  private static let head: [UInt8] = [0, 0, 0, 24] + Array("ftypisom".utf8)
  private let video = head + [UInt8](repeating: 7, count: 3 << 20)

  static let standIns: [(name: String, body: String, failure: ThumbnailFailure)] = [
    (
      "asks beyond the end", "id, count = request(); ask(id, count - 10, 11); stay()",
      .workerDied
    ),
    (
      "asks far beyond the end", "id, _ = request(); ask(id, 1 << 49, 1); stay()",
      .workerDied
    ),
    ("asks for nothing", "id, _ = request(); ask(id, 0, 0); stay()", .workerDied),
    (
      "asks for too much at once",
      "id, _ = request(); ask(id, 0, (256 << 10) + 1); stay()",
      .workerDied
    ),
    (
      "asks too often",
      "id, _ = request()\nfor _ in range(4097): ask(id, 0, 1); take(1)\nstay()",
      .workerDied
    ),
    (
      "asks for too much in the end",
      "id, _ = request()\nwhile True: ask(id, 0, 256 << 10); take(256 << 10)", .workerDied
    ),
    (
      "asks for the video of somebody else",
      "id, _ = request(); ask(id ^ 1, 0, 1); stay()",
      .workerDied
    ),
    (
      "asks again before it has the bytes",
      "id, _ = request(); s.sendall(2 * asking(id, 0, 100)); stay()", .workerDied
    ),
    (
      "never takes what it asked for",
      "id, _ = request()\nwhile True: ask(id, 0, 256 << 10); be_slow(0.3)", .timedOut
    ),
    ("asks and waits", "id, _ = request(); ask(id, 0, 100); stay()", .timedOut),
    (
      "sends a PNG", "id, _ = request(); reply(id, bytes.fromhex('89504e470d0a1a0a'), detail=2)",
      .workerDied
    ),
  ]

  @Test(
    "A stand-in for the worker of videos gets no other bytes than its video's, and ends",
    arguments: Self.standIns.indices)
  func hostile(_ index: Int) throws {
    let (name, body, failure) = Self.standIns[index]
    let standIn = try StandIn(body)
    let source = TestSource()
    source.add(1, video)
    let queue = try queue(source, standIn.launch)
    #expect(source.awaitAnswer(for: 1) == .failed(failure), "\(name)")
    queue.stop()
    #expect(source.bytesRead(of: 1) <= 300 << 20, "the budget, twice, and the first bytes")
    for process in standIn.processes() {
      #expect(eventually { !isAlive(process) }, "\(name)")
    }
  }

  @Test("A worker gets exactly the bytes that it asks for")
  func exact() throws {
    let standIn = try StandIn(
      """
      id, count = request()
      good = True
      for offset, length in ((count - 1, 1), (12, 300), (0, 12), (1 << 20, 256 << 10)):
          ask(id, offset, length)
          got = take(length)
          wanted = (b'\\0\\0\\0\\x18ftypisom' + bytes([7]) * (3 << 20))[offset:offset + length]
          good = good and got == wanted
      reply(id, jpeg if good else b'')
      stay()
      """)
    let source = TestSource(readLimit: 100_000)
    source.add(1, video)
    let queue = try queue(source, standIn.launch)
    guard case .thumbnail = source.awaitAnswer(for: 1) else {
      Issue.record("no thumbnail: \(String(describing: source.answer(for: 1)))")
      return
    }
    queue.stop()
    #expect(source.bytesRead(of: 1) == 2 * (64 << 10) + 1 + 300 + 12 + (256 << 10))
  }

  @Test("A video that changes while it is read is given up, and the next one is served")
  func changing() throws {
    let source = TestSource()
    let real = try TestVideos.mp4()
    source.add(1, video, changesAt: 1 << 20)
    source.add(2, real)
    let standIn = try StandIn(
      """
      while True:
          id, count = request(); ask(id, min(count - 9, 2 << 20), 9); take(9); reply(id, jpeg)
      """)
    let queue = try queue(source, standIn.launch)
    #expect(source.awaitGone(1))
    guard case .thumbnail = source.awaitAnswer(for: 2) else {
      Issue.record("no thumbnail")
      return
    }
    queue.stop()
    #expect(source.answer(for: 1) == nil)
  }

  @Test("Pictures go to one program and videos to another, whatever their names")
  func both() throws {
    let source = TestSource()
    source.add(1, try TestPictures.encode(TestPictures.pixels(), as: "jpg"))
    source.add(2, try TestVideos.mp4())
    source.add(3, Array("neither".utf8))
    let queue = try queue(source, TestVideoWorker.launch())
    for number: UInt64 in 1...2 {
      guard case .thumbnail(let bytes) = source.awaitAnswer(for: number) else {
        Issue.record("no thumbnail of \(number)")
        continue
      }
      #expect(try TestPictures.decode(bytes).isUpright)
    }
    #expect(source.awaitAnswer(for: 3) == .failed(.notAPicture))
    #expect(queue.videoUnavailability == nil)
    queue.stop()
  }

  @Test(
    "Without their program videos get no thumbnail at once, and pictures get theirs",
    arguments: [nil, "/nonexistent", "/bin/false"])
  func without(_ program: String?) throws {
    let source = TestSource()
    source.add(1, video)
    source.add(2, video)
    source.add(3, try TestPictures.encode(TestPictures.pixels(), as: "jpg"))
    let queue = try queue(source, program.map { WorkerLaunch(program: $0) })
    for number: UInt64 in 1...2 {
      #expect(source.awaitAnswer(for: number) == .failed(.notAPicture))
    }
    guard case .thumbnail = source.awaitAnswer(for: 3) else {
      Issue.record("no thumbnail")
      return
    }
    #expect((queue.videoUnavailability != nil) == (program != nil))
    #expect(queue.unavailability == nil)
    queue.stop()
  }

  @Test("A video that takes long waits until the others have their thumbnails")
  func slow() throws {
    let standIn = try StandIn(
      """
      while True:
          id, count = request()
          if count > 1 << 20: stay()
          reply(id, jpeg)
      """)
    let source = TestSource()
    source.add(1, video)
    source.add(2, Self.head + [1])
    source.add(3, Self.head + [1])
    let queue = try queue(source, standIn.launch)
    for number: UInt64 in 2...3 {
      guard case .thumbnail = source.awaitAnswer(for: number) else {
        Issue.record("no thumbnail")
        return
      }
    }
    #expect(source.answer(for: 1) == nil, "it waits")
    #expect(source.awaitAnswer(for: 1) == .failed(.timedOut))
    queue.stop()
  }
}
