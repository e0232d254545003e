import AlbumModel
import AlbumTestSupport
import Foundation
import Logging
import Testing
import ThumbnailProtocol
import Thumbnails

/// A worker that a picture has taken over can store nothing but a thumbnail, stops no other work, and ends.
@Suite(.serialized)
struct HostileWorkerTests {
  private func queue(_ source: TestSource, _ launch: WorkerLaunch) throws -> ThumbnailQueue {
    try ThumbnailQueue(
      source: source, launch: launch, workers: 1, logger: Logger(label: "test"))
  }

  /// Larger than a socket accepts at once.
  private let picture: [UInt8] = [0xff, 0xd8, 0xff, 0xe0] + [UInt8](repeating: 7, count: 3 << 20)

  static let standIns: [(name: String, body: String, failure: ThumbnailFailure)] = [
    (
      "answers ahead, before it has the picture",
      "id, count = request(); reply(id, jpeg); take(count); stay()", .workerDied
    ),
    (
      "answers somebody else", "id, count = request(); take(count); reply(id ^ 1, jpeg)",
      .workerDied
    ),
    (
      "cuts its answer short and ends",
      "id, count = request(); take(count); reply(id, jpeg, count=1000)", .workerDied
    ),
    (
      "cuts its answer short and waits",
      "id, count = request(); take(count); reply(id, jpeg, count=1000); stay()", .timedOut
    ),
    (
      "floods instead of an answer",
      """
      id, count = request(); take(count)
      while True: s.sendall(bytes(1 << 20))
      """, .workerDied
    ),
    (
      "floods with thumbnails",
      """
      id, count = request(); take(count)
      while True: reply(id + 1, jpeg * 1000)
      """, .workerDied
    ),
    (
      "says it is much and sends little by little",
      """
      id, count = request(); take(count); reply(id, b'', count=17 << 20)
      while True: s.sendall(b'x'); be_slow(0.05)
      """, .timedOut
    ),
    (
      "tells a date that there cannot be",
      "id, count = request(); take(count); reply(id, jpeg, facts=b'\\xff' * 48)", .workerDied
    ),
    ("never reads", "stay()", .timedOut),
    (
      "says hello again", "id, count = request(); take(count); reply(0, bytes(8), 0, 0)",
      .workerDied
    ),
    (
      "ignores signals and forks",
      """
      for number in range(1, 32):
          try: signal.signal(number, signal.SIG_IGN)
          except OSError: pass
      for _ in range(20):
          if os.fork() == 0:
              note('forked')
              stay()
      id, count = request(); take(count); stay()
      """, .timedOut
    ),
    (
      "ends its process group, which is not ours", "request(); os.kill(0, signal.SIGTERM)",
      .workerDied
    ),
    (
      "stops itself", "request(); os.kill(os.getpid(), signal.SIGSTOP); stay()", .timedOut
    ),
    (
      "sends a text", "id, count = request(); take(count); reply(id, b'My name is ...')",
      .workerDied
    ),
    (
      "sends a thumbnail with a comment",
      """
      id, count = request(); take(count)
      reply(id, jpeg[:2] + bytes.fromhex('fffe0006') + b'home' + jpeg[2:])
      """, .workerDied
    ),
    (
      "sends a picture as large as a house",
      """
      id, count = request(); take(count)
      reply(id, jpeg.replace(bytes.fromhex('00100010'), bytes.fromhex('ffffffff')))
      """, .workerDied
    ),
  ]

  @Test(
    "A stand-in for the worker can store nothing, and ends with all its children",
    arguments: Self.standIns.indices)
  func hostile(_ index: Int) throws {
    let (name, body, failure) = Self.standIns[index]
    let standIn = try StandIn(body)
    let source = TestSource()
    source.add(1, picture)
    source.add(2, picture)
    let queue = try queue(source, standIn.launch)
    #expect(source.awaitAnswer(for: 1) == .failed(failure), "\(name)")
    #expect(source.awaitAnswer(for: 2) == .failed(failure), "\(name)")
    queue.stop()
    let processes = standIn.processes() + standIn.processes("forked")
    #expect(!standIn.processes().isEmpty)
    for process in processes { #expect(endsSoon(process), "\(name): \(process)") }
  }

  @Test("A worker that answers before a request can store nothing, and ends")
  func ahead() throws {
    let standIn = try StandIn("reply(1, jpeg); stay()")
    let source = TestSource()
    for number: UInt64 in 1...3 { source.add(number, picture) }
    let queue = try queue(source, standIn.launch)
    #expect(eventually { standIn.processes().count >= 2 }, "the first was replaced")
    queue.stop()
    for number: UInt64 in 1...3 {
      // The fault shows before the picture was sent, or during that.
      #expect([nil, .failed(.workerDied)].contains(source.answer(for: number)))
    }
    for process in standIn.processes() { #expect(endsSoon(process)) }
  }

  @Test("A process that sends nothing at its start is ended, and no photo fails")
  func silent() throws {
    let standIn = try StandIn("stay()", saysHello: false)
    let source = TestSource()
    source.add(1, picture)
    var launch = standIn.launch
    launch.startDeadline = .seconds(1)
    let queue = try queue(source, launch)
    #expect(eventually { queue.unavailability != nil })
    queue.stop()
    #expect(source.answer(for: 1) == nil)
    for process in standIn.processes() { #expect(endsSoon(process)) }
  }

  @Test(
    "A worker that sends without a request is ended at once, and the next picture works"
  )
  func unasked() throws {
    let standIn = try StandIn(
      """
      id, count = request(); take(count); reply(id, jpeg)
      eventually(lambda: os.path.exists(f'{os.path.dirname(__file__)}/taken-{os.getpid()}'))
      reply(id, jpeg)
      stay()
      """)
    let source = TestSource()
    source.add(1, picture)
    let queue = try queue(source, standIn.launch)
    guard case .thumbnail = source.awaitAnswer(for: 1) else {
      Issue.record("no thumbnail")
      return
    }
    let first = try #require(standIn.processes().first)
    try standIn.note("taken-\(first)")
    #expect(endsSoon(first), "it spoke")
    source.add(2, picture)
    queue.wake()
    guard case .thumbnail = source.awaitAnswer(for: 2) else {
      Issue.record("no thumbnail")
      return
    }
    #expect(standIn.processes().count == 2)
    queue.stop()
  }

  /// In the cell no signal leaves the process (`CellTests`). Outside of it, as here, a worker reaches all
  /// processes of its user. It could only end the daemon.
  @Test("Workers that are killed and stopped by another one cost attempts, and no more")
  func killing() throws {
    let standIn = try StandIn(
      """
      def is_worker(process):
          try:
              with open(f'/proc/{process}/cmdline') as f: return __file__ in f.read()
          except OSError: return False
      def others():
          with open(os.path.dirname(__file__) + '/started') as f: found = {int(line) for line in f}
          return [process for process in found - {os.getpid()} if is_worker(process)]
      while True:
          id, count = request(); picture = take(count)
          if picture[-1] == 1:
              for other in others():
                  for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
                      try: os.kill(other, number)
                      except ProcessLookupError: pass
          reply(id, jpeg)
      """)
    let sources = [TestSource(), TestSource()]
    let queues = try sources.map { try queue($0, standIn.launch) }
    for number: UInt64 in 1...20 {
      for (hostility, source) in sources.enumerated() {
        source.add(number, Array(picture.prefix(100)) + [UInt8(hostility)])
        queues[hostility].wake()
      }
    }
    for number: UInt64 in 1...20 {
      for source in sources { #expect(source.awaitAnswer(for: number) != nil, "\(number)") }
    }
    // The killer is idle, and the other queue works again.
    sources[0].add(21, Array(picture.prefix(100)) + [0])
    queues[0].wake()
    guard case .thumbnail = sources[0].awaitAnswer(for: 21) else {
      Issue.record("no thumbnail")
      return
    }
    for queue in queues { queue.stop() }
    for process in standIn.processes() { #expect(endsSoon(process), "\(process)") }
  }

  private static let honest = """
    while True:
        id, count = request(); take(count); reply(id, jpeg)
    """

  @Test("A worker is replaced by a fresh process after 64 pictures")
  func renewal() throws {
    let standIn = try StandIn(Self.honest)
    let source = TestSource()
    let small = Array(picture.prefix(100))
    for number in 1...130 { source.add(UInt64(number), small) }
    let queue = try queue(source, standIn.launch)
    #expect(source.awaitAnswer(for: 130) != nil)
    queue.stop()
    #expect(Set(standIn.processes()).count == 3)
  }

  /// The queues start the same program in the same process, and their photos have the same numbers. A worker
  /// that one passed to the other would get the bytes of both, which the test would see.
  @Test("No process serves the queues of two spaces, at the same time or one after the other")
  func twoSpaces() throws {
    let standIn = try StandIn(
      """
      while True:
          id, count = request(); picture = take(count)
          note(f'space-{picture[-1]}'); reply(id, jpeg)
      """)
    let sources = [TestSource(), TestSource(), TestSource()]
    func serve(_ spaces: Range<Int>) throws {
      let queues = try spaces.map { try queue(sources[$0], standIn.launch) }
      for number in 1...10 {
        for (space, queue) in zip(spaces, queues) {
          sources[space].add(
            UInt64(number), Array(picture.prefix(100)) + [UInt8(space)])
          queue.wake()
        }
        for space in spaces { #expect(sources[space].awaitAnswer(for: UInt64(number)) != nil) }
      }
      for queue in queues { queue.stop() }
    }
    try serve(0..<2)
    let early = Set(standIn.processes())
    // No worker outlives its queue, so no later queue could take it over.
    for process in early { #expect(endsSoon(process)) }
    try serve(2..<3)
    var served: Set<pid_t> = []
    for space in 0..<3 {
      let processes = Set(standIn.processes("space-\(space)"))
      #expect(!processes.isEmpty && processes.isDisjoint(with: served), "space \(space)")
      served.formUnion(processes)
    }
    #expect(served.isSubset(of: standIn.processes()))
  }

  /// Waits for the end of a process, since a killed one may take a moment.
  private func endsSoon(_ process: pid_t) -> Bool {
    eventually { !isAlive(process) }
  }
}
