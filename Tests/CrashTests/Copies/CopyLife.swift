import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumStore

/// The life of a store, recorded for copiers: sessions that end by an unmount, a kill or a power cut, the
/// content of every file of the disk at each instant, and the state of the space.
struct CopyLife {
  let keys: SpaceKeys
  private(set) var chronicle = DiskChronicle()
  private(set) var timeline = Timeline()
  /// The faults that its sessions found.
  private(set) var findings: [String] = []
  /// The ends of sessions that ended with an unmount, in instants of the disk.
  private(set) var rests: [Int] = []
  /// The instants of the disk in which sessions ended by an unmount.
  private var unmounts: [ClosedRange<Int>] = []
  /// The instants of power cuts.
  private var powerCuts: [Int] = []
  /// The instants at which sessions made their first journal segments.
  private var births: Set<Int> = []
  /// The first instant of the disk in each second.
  private var seconds: [(position: Int, second: Int64)] = []
  /// From which instant of the disk on it was which start of the machine.
  private var boots: [(position: Int, boot: BootIdentity)] = []
  private var circumstances: Circumstances
  private let clock: TestClock
  /// True if the life takes longer than the grace time, so that what is not needed any more goes.
  private var isLong = false

  /// The grace time of unneeded segments, in seconds. A copy may take as long.
  static let grace: Int64 = 15 * 60

  /// Starts a life with this store.
  init(_ circumstances: Circumstances, clock: TestClock = TestClock()) {
    self.circumstances = circumstances
    self.circumstances.graceSeconds = CopyLife.grace * (circumstances.keepsGrace ? 1 : 0)
    self.clock = clock
    keys = circumstances.store.keys
  }

  var now: Int64 { clock.seconds }

  /// The start of the machine at an instant.
  func boot(at position: Int) -> BootIdentity {
    boots.last { $0.position <= position }?.boot ?? .unknown
  }

  var lastBoot: BootIdentity { boots.last?.boot ?? .unknown }

  /// True if one session alone writes in a window, and its journal was on disk before.
  func isWithinSession(_ window: ClosedRange<Int>) -> Bool {
    let begin = boots.last { $0.position <= window.lowerBound }?.position ?? 0
    let isOne = !boots.contains { window.contains($0.position) && $0.position > begin }
    return isOne && births.contains { begin < $0 && $0 < window.lowerBound - 2 }
  }

  func second(at position: Int) -> Int64 {
    seconds.last { $0.position <= position }?.second ?? 0
  }

  /// True if a run takes less than the grace time. A barrier takes some seconds, so this counts a few too
  /// many.
  func isShort(_ window: ClosedRange<Int>) -> Bool {
    second(at: window.upperBound) - second(at: window.lowerBound) + 5 < CopyLife.grace
  }

  /// True if a session begins to write or ends in a window. The missing parts of a copy may then look like
  /// damage, which another run repairs.
  func hasBoundary(in window: ClosedRange<Int>) -> Bool {
    births.contains { window.lowerBound < $0 && $0 <= window.upperBound }
      || unmounts.contains { $0.overlaps(window) }
  }

  /// True if a power cut came in a window: no copying tool survives that.
  func hasPowerCut(in window: ClosedRange<Int>) -> Bool {
    powerCuts.contains { window.lowerBound < $0 && $0 <= window.upperBound }
  }

  private mutating func recordBirths() {
    var first: [SegmentBirth: Int] = [:]
    for (path, instant) in chronicle.firstInstants {
      guard let found = keys.segment(at: path), found.kind == .journal else { continue }
      first[found.birth] = min(first[found.birth] ?? .max, instant)
    }
    births = Set(first.values)
  }

  // MARK: Living

  /// How a session ends.
  enum End: CaseIterable { case unmount, kill, powerCut }

  /// Runs a session of these operations.
  mutating func live(_ operations: [Operation], end: End, _ random: inout SeededRandom) throws {
    circumstances.salt &+= 1 << 32
    let base = chronicle.next
    seconds.append((base, clock.seconds))
    boots.append((base, circumstances.boot))
    let workload = try Workload(circumstances, clock: clock)
    for operation in operations {
      clock.advance(seconds: pause(&random))
      seconds.append((base + workload.disk.position, clock.seconds))
      workload.perform(operation)
    }
    if end == .unmount {
      workload.perform(.remount)
      rests.append(base + workload.disk.position)
    }
    workload.mounted.kill()
    findings += workload.findings
    let times = seconds
    chronicle.append(workload.disk.recording) { position in
      times.last { $0.position <= base + position }?.second ?? 0
    }
    unmounts += workload.unmounts.map { base + $0.lowerBound...base + $0.upperBound }
    recordBirths()
    if end == .powerCut { powerCuts.append(chronicle.next) }
    timeline.append(workload.history, at: base)
    circumstances.boot =
      end == .powerCut || Int.random(in: 0..<3, using: &random) == 0
      ? .random(&random) : circumstances.boot
    try resume(workload, end, &random)
  }

  /// Several operations share a second often. In a long life a grace time passes now and then.
  private func pause(_ random: inout SeededRandom) -> Int64 {
    switch Int.random(in: 0..<30, using: &random) {
    case 0...2 where isLong: Int64.random(in: 60...2 * CopyLife.grace, using: &random)
    case 3...12: Int64.random(in: 1...4, using: &random)
    default: 0
    }
  }

  /// Returns another timeline of the same store: that of a copy that was made at this instant.
  func forked(at position: Int) throws -> CopyLife {
    let copy = StoreCopy(of: chronicle, at: position)
    let mounted = try MountedSpace(CopiedDisk(copy), keys, clock: TestClock())
    defer { mounted.kill() }
    guard let instant = timeline.instant(try Snapshot(mounted)) else {
      throw Finding(text: "killed at \(position) it is no instant of its history")
    }
    var other = CopyLife(circumstances, clock: clock)
    other.isLong = isLong
    other.circumstances.salt &+= 1 << 36
    other.circumstances.store.image = copy.image
    other.circumstances.tree = timeline.tree(instant)
    other.chronicle = DiskChronicle(copy)
    other.timeline = timeline.common(through: instant)
    return other
  }

  /// Runs sessions of random operations.
  mutating func liveOn(sessions: Int, _ random: inout SeededRandom) throws {
    for _ in 0..<sessions where findings.isEmpty {
      var operations: [Operation] = []
      for _ in 0..<Int.random(in: 6...28, using: &random) {
        operations.append(Operation.random(&random))
      }
      try live(operations, end: End.allCases.randomElement(using: &random)!, &random)
    }
  }

  /// Determines the state that the next session finds.
  private mutating func resume(_ workload: Workload, _ end: End, _ random: inout SeededRandom)
    throws
  {
    let survival: Survival = end == .powerCut ? .random : .everything
    let image = workload.disk.image.afterPowerCut(survival, &random)
    let mounted = try MountedSpace(
      SimulatedDisk(image), keys, clock: TestClock(), boot: circumstances.boot)
    defer { mounted.kill() }
    let position = workload.disk.position
    let found = workload.history.find(
      try Snapshot(mounted), at: position + 1, afterKill: end != .powerCut)
    guard let found else {
      findings.append("a session left what is no instant of its history")
      return
    }
    circumstances.store.image = image
    circumstances.tree = workload.history.instants[found].tree
    circumstances.tree.endProcess()
  }

  /// Returns a life of a few random sessions.
  static func random(
    _ prepared: Circumstances, sessions: Int = 3, isLong: Bool? = nil,
    _ random: inout SeededRandom
  ) throws -> CopyLife {
    var circumstances = prepared
    circumstances.salt = random.next() << 40
    circumstances.boot = .random(&random)
    let clock = TestClock(isSetBack: Int.random(in: 0..<4, using: &random) == 0)
    var life = CopyLife(circumstances, clock: clock)
    life.isLong = isLong ?? (Int.random(in: 0..<3, using: &random) == 0)
    try life.liveOn(sessions: Int.random(in: 1...sessions, using: &random), &random)
    return life
  }

  /// True if these findings of a check say that the copy has more than the store: what a power cut took from
  /// the store is left in a copy with the same sizes and times. With a clock that was set back, the next
  /// session may begin at an earlier store time than that of the lost frames, and this looks like another
  /// timeline.
  func isLeftByPowerCut(_ findings: [CheckFinding], in window: ClosedRange<Int>) -> Bool {
    hasPowerCut(in: window)
      && findings.contains {
        $0.detail == .divergedTimeline || clock.isSetBack && $0.detail == .otherTimeline
      }
  }

  // MARK: Being copied

  /// Returns the segments from which files were read at some instant, as mounts of a few instants show.
  func contentSegments() -> Set<String> {
    var found: Set<String> = []
    for position in stride(from: 0, through: chronicle.end, by: max(1, chronicle.end / 10)) {
      let seen = Sighting(StoreCopy(of: chronicle, at: position), keys, checks: false)
      found.formUnion(seen.segments.values.joined())
    }
    return found.filter { $0.hasPrefix("segments/") }
  }

  /// Returns a run of a tool at a random time, not before `start`. Short runs are as frequent as long ones.
  func randomPass(from start: Int, _ random: inout SeededRandom) -> CopyPass {
    let begin = Int.random(in: start...chronicle.end, using: &random)
    let longest = chronicle.end - begin
    let limit = Bool.random(using: &random) ? longest : min(longest, 40)
    var pass = CopyPass(begin...begin + Int.random(in: 0...limit, using: &random))
    pass.order = CopyPass.Order.allCases.randomElement(using: &random)!
    pass.isSlow = Int.random(in: 0..<4, using: &random) == 0
    return pass
  }

  /// Returns the store itself, killed at this instant.
  func killed(at position: Int) -> StoreCopy { StoreCopy(of: chronicle, at: position) }
}
