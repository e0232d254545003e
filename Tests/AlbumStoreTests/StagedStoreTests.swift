import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Logging
import ObjectStores
import Posix
import Testing

@testable import AlbumStore

/// A store in an object storage, to which machines write, each through a staging directory of its own.
@Suite(.timeLimit(.minutes(10))) struct StagedStoreTests {
  let place: StorePlace
  let bucket: MemoryObjectStore
  /// Runs before a call to the bucket.
  private let hook: Hook
  private let isAway: Flag
  /// Every call fails, and nobody waits for better times.
  private let isBroken: Flag
  /// The server takes nothing more: the credentials have ended.
  private let isRefused: Flag
  /// The calls whose next reply is wrong: `load segments/…`.
  private let wrong: Calls

  init() throws {
    place = try StorePlace()
    let (hook, isAway, isBroken, isRefused) = (Hook(), Flag(), Flag(), Flag())
    (self.hook, self.isAway, self.isBroken, self.isRefused) = (hook, isAway, isBroken, isRefused)
    let wrong = Calls()
    self.wrong = wrong
    bucket = MemoryObjectStore { verb, name, number in
      hook.reach(number)
      if wrong.take("\(verb) \(name)") { return .wrong }
      if isBroken.isSet { return .error(.failed("broken")) }
      if isRefused.isSet { return .error(.refused(.credentials("ExpiredToken"))) }
      return isAway.isSet ? .error(.unreachable(.noConnection)) : nil
    }
    for (name, bytes) in try place.files() { try bucket.save(name, bytes, .any) }
  }

  /// One machine: its staging, and its mounts of the space.
  private final class Machine: Sendable {
    let staging = TemporaryDirectory()
    let test: StagedStoreTests
    let limit: Int64

    init(_ test: StagedStoreTests, limit: Int64 = 1 << 30) {
      (self.test, self.limit) = (test, limit)
    }

    func open(readOnly: Bool = false, omitting omitted: Set<Precaution> = []) throws -> Space {
      var options = SpaceOpenOptions(logger: Logger(label: "test"))
      options.readOnly = readOnly
      options.worksInBackground = false
      options.watch = .zero
      options.grace = .zero
      options.omitting = omitted
      let directory: any StorageDirectory =
        readOnly
        ? ObjectDirectory(test.bucket)
        : StagedDirectory(
          test.bucket, staging: try PosixDirectory(path: staging.path), limit: limit)
      let store = Store(directory: directory, segmentSize: StorePlace.segmentSize)
      return try Space.open(store, keys: test.place.keys, options: options)
    }

    /// Calls `begins` when the store is open.
    func repair(
      begins: () -> Void = {},
      progress: @escaping @Sendable (CheckProgress) -> Bool = { _ in true }
    ) throws -> CheckReport {
      var options = CheckOptions()
      options.repairs = true
      let directory = StagedDirectory(
        test.bucket, staging: try PosixDirectory(path: staging.path), limit: limit)
      let store = Store(directory: directory, segmentSize: StorePlace.segmentSize)
      begins()
      return try SpaceCheck.run(store, keys: test.place.keys, options: options, progress: progress)
    }

    /// The files that wait here, or lie here as a cache.
    func staged() throws -> [String] {
      let directory = try PosixDirectory(path: staging.path)
      return try directory.list("").filter { !$0.hasPrefix("lock.") }
    }
  }

  /// Calls to a bucket, each taken once.
  private final class Calls: Sendable {
    private let waiting = Mutex<Set<String>>([], rank: .test)

    func set(_ calls: Set<String>) { waiting.withLock { $0 = calls } }

    func take(_ call: String) -> Bool { waiting.withLock { $0.remove(call) } != nil }
  }

  /// What a third machine sees.
  private func shown() throws -> [String: [UInt8]] {
    let machine = Machine(self)
    let space = try machine.open(readOnly: true)
    defer { try? space.close() }
    let report = space.status.recovery
    #expect(!report.isDamaged || !report.foreignJournals.isEmpty, "\(report)")
    return try space.files()
  }

  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do { try body() } catch { return (error as? StoreError)?.code }
    return nil
  }

  // MARK: One machine

  @Test func whatWasSentShowsElsewhereAndTheRestDoesNot() throws {
    let machine = Machine(self)
    let space = try machine.open()
    try space.write([1], to: "a")
    try space.barrierThere()
    try space.write([2], to: "b")
    try space.barrier()
    #expect(try shown() == ["a": [1]])
    #expect(space.status.sending?.unsentBytes ?? 0 > 0)
    try space.barrierThere()
    #expect(try shown() == ["a": [1], "b": [2]])
    #expect(space.status.sending?.unsentBytes == 0)
    space.abandon()
  }

  @Test func anUnmountSendsEverythingAndLeavesNothingHere() throws {
    let machine = Machine(self)
    let space = try machine.open()
    let content = [UInt8](repeating: 7, count: 1_000_000)
    try space.write(content, to: "a")
    try space.close()
    #expect(try shown() == ["a": content])
    #expect(try machine.staged().isEmpty)
    let other = Machine(self)
    let again = try other.open()
    #expect(again.status.recovery.wasClean)
    #expect(try again.content(of: "a") == content)
    again.abandon()
  }

  @Test func aKilledSessionGoesOnHereWithWhatItHadNotSent() throws {
    let machine = Machine(self)
    let space = try machine.open()
    try space.write([1], to: "sent")
    try space.barrierThere()
    try space.write([2], to: "not sent")
    space.abandon()
    let again = try machine.open()
    #expect(try again.files() == ["sent": [1], "not sent": [2]])
    try again.close()
    #expect(try shown() == ["sent": [1], "not sent": [2]])
    #expect(try machine.staged().isEmpty)
  }

  @Test func theSameMachineMountsItOnce() throws {
    let machine = Machine(self)
    let space = try machine.open()
    #expect(code { _ = try machine.open() } == .inUse)
    try space.close()
    try machine.open().close()
  }

  @Test func withoutTheNetworkEverythingWaitsHere() throws {
    let machine = Machine(self)
    let space = try machine.open()
    try space.write([1], to: "a")
    isAway.set(true)
    try space.write([2], to: "b")
    try space.barrier()
    #expect(code { try space.barrierThere() } == .notSent)
    #expect(space.status.sending?.problem != nil)
    #expect(!space.isReadOnly)
    isAway.set(false)
    try space.barrierThere()
    #expect(try shown() == ["a": [1], "b": [2]])
    isAway.set(true)
    try space.write([3], to: "c")
    space.endPatience()
    #expect(code { try space.close() } == .notSent)
    isAway.set(false)
    #expect(try shown() == ["a": [1], "b": [2]])
    try machine.open().close()
    #expect(try shown() == ["a": [1], "b": [2], "c": [3]])
  }

  /// The first change after a mount asks there who may write. Until the answer comes, nobody is told that it
  /// counts.
  @Test func theFirstChangeWaitsWhileTheServerRefuses() throws {
    let machine = Machine(self)
    let space = try machine.open()
    isRefused.set(true)
    let hasCounted = Flag()
    let thread = try PosixThread(name: "writer") { [isRefused] in
      if (try? space.write([1], to: "first")) != nil, (try? space.commit()) != nil {
        hasCounted.set(!isRefused.isSet)
      }
    }
    #expect(eventually { space.status.outage != nil })
    #expect(space.status.sending?.problem != nil)
    isRefused.set(false)
    thread.join()
    #expect(hasCounted.isSet)
    try space.close()
    #expect(try shown()["first"] == [1])
  }

  /// One wrong reply ends no session: it looks twice before it believes that another one writes.
  @Test func aWrongReplyEndsNoSession() throws {
    let machine = Machine(self)
    try machine.open().close()
    let space = try machine.open()
    let names = bucket.contents.keys.filter { $0.hasPrefix("segments/") }
    wrong.set(Set(names.flatMap { ["stat \($0)", "load \($0)"] }))
    let end = try #require(space.context.fence.end)
    let files = space.context.files
    let journal = SegmentPath.path(
      of: files.name(SegmentID(kind: .journal, number: end.number), end.birth))
    try space.write([1], to: "a")
    try space.commit()
    #expect(!wrong.take("load \(journal)"))
    wrong.set([])
    try space.close()
    #expect(try shown()["a"] == [1])
  }

  /// Wrong bytes of the journal, and of all that it names, hide nothing from a mount that writes.
  @Test(arguments: [SegmentKind.journal, .checkpoint, .data, .fence])
  func wrongRepliesHideNothingFromAMount(of kind: SegmentKind) throws {
    let machines = (Machine(self), Machine(self))
    let first = try machines.0.open()
    try first.write([1], to: "a")
    try first.barrierThere()
    first.abandon()
    let keys = place.keys
    let names = bucket.contents.keys.filter {
      SegmentName(text: String($0.suffix(32))).flatMap { keys.segment(named: $0)?.kind } == kind
    }
    wrong.set(Set(names.map { "load \($0)" }))
    let second = try machines.1.open()
    #expect(try second.content(of: "a") == [1])
    try second.write([2], to: "b")
    try second.close()
    wrong.set([])
    #expect(try shown() == ["a": [1], "b": [2]])
  }

  /// What does not fit is sent, and then there is room.
  @Test func aFullStagingDirectorySendsBeforeItTakesMore() throws {
    let machine = Machine(self, limit: 24 * Int64(StorePlace.segmentSize))
    let space = try machine.open()
    let content = [UInt8](repeating: 5, count: 1_000_000)
    for number in 0..<20 { try space.write(content, to: "\(number)") }
    isAway.set(true)
    let refusal = code { for number in 20..<40 { try space.write(content, to: "\(number)") } }
    #expect(refusal == .noSpace)
    isAway.set(false)
    // The next look for room comes two seconds after one in vain.
    while code({ try space.write(content, to: "last") }) == .noSpace {}
    try space.close()
    let files = try shown()
    #expect(files["last"] == content && files["19"] == content)
  }

  @Test func whatIsRemovedGoesFromTheBucket() throws {
    let machine = Machine(self)
    let space = try machine.open()
    for number in 0..<8 { try space.write([UInt8](repeating: 1, count: 200_000), to: "\(number)") }
    try space.barrierThere()
    let before = bucket.contents.count
    for number in 1..<8 { space.remove("\(number)") }
    for _ in 0..<3 {
      try space.durability.checkpoint()
      try space.compact()
      var sweep = try space.compactor.beginSweep()
      try sweep.round(space.compactor)
      try space.barrierThere()
    }
    #expect(bucket.contents.count < before)
    try space.close()
    #expect(try shown() == ["0": [UInt8](repeating: 1, count: 200_000)])
  }

  /// What a bucket holds counts as used, and its room has no limit. Room for what waits is another matter.
  @Test func theRoomIsThatOfTheBucket() throws {
    let machine = Machine(self)
    let space = try machine.open()
    let before = try space.capacity()
    try space.write([UInt8](repeating: 1, count: 300_000), to: "a")
    try space.barrier()
    let staged = try space.capacity()
    try space.barrierThere()
    let sent = try space.capacity()
    let stored = bucket.contents.filter { $0.key.hasPrefix("segments/") }.reduce(0) {
      $0 + Int64($1.value.count)
    }
    #expect(before.availableBytes == 1 << 50 && sent.availableBytes == 1 << 50)
    #expect(staged.totalBytes - staged.freeBytes > before.totalBytes - before.freeBytes + 300_000)
    #expect(sent.totalBytes - sent.freeBytes == stored)
    space.abandon()
  }

  /// The thumbnails of an album are read together, so they lie together, wherever the photos are.
  @Test func theThumbnailsOfAnAlbumTakeFewRequests() throws {
    let machine = Machine(self)
    let space = try machine.open()
    func thumbnail(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 1500) }
    for number in 0..<200 {
      try space.write([UInt8](repeating: 1, count: 60_000), to: "photo \(number)")
      try space.write(thumbnail(number), to: "thumbnail \(number)", in: .thumbnails)
    }
    try space.close()
    let other = Machine(self)
    let reader = try other.open(readOnly: true)
    let before = bucket.calls(.load)
    for number in 0..<200 {
      #expect(try reader.content(of: "thumbnail \(number)") == thumbnail(number))
    }
    #expect(bucket.calls(.load) - before <= 5)
    try reader.close()
  }

  // MARK: Readers

  /// A reader finds what is written by the names that it must have. To list a bucket costs more, and needs
  /// another right.
  @Test func aReaderFollowsWithoutListing() throws {
    let machines = (0..<4).map { _ in Machine(self) }
    var writer = try machines[0].open()
    try writer.write([0], to: "0")
    try writer.barrierThere()
    let reader = try machines[3].open(readOnly: true)
    let follower = Follower(reader.context, from: reader.context.fence, reader.status.recovery)
    func content(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 70_000) }
    for number in 1...24 {
      // Another machine, and a checkpoint now and then.
      if number % 8 == 0 {
        try writer.close()
        writer = try machines[number / 8 % 3].open()
      }
      try writer.write(content(number), to: "\(number)")
      if number % 5 == 0 { try writer.durability.checkpoint() }
      writer.remove("\(number - 1)")
      try writer.commit()
      try writer.barrierThere()
      let lists = bucket.calls(.list)
      _ = follower.round()
      #expect(follower.following.problem == nil)
      #expect(bucket.calls(.list) == lists, "\(number)")
      #expect(try reader.content(of: "\(number)") == content(number))
      #expect(try reader.content(of: "\(number - 1)") == nil)
    }
    try writer.close()
    try reader.close()
  }

  /// A reader that was asleep while several machines wrote shows what the last one left.
  @Test func aReaderThatSleptFollowsAgain() throws {
    let (machine, writers) = (Machine(self), (0..<4).map { _ in Machine(self) })
    let reader = try machine.open(readOnly: true)
    let follower = Follower(reader.context, from: reader.context.fence, reader.status.recovery)
    for round in 0..<4 {
      for session in 0..<round {
        let writer = try writers[session].open()
        try writer.write([UInt8(round), UInt8(session)], to: "file")
        try writer.close()
      }
      _ = follower.round()
      #expect(follower.following.problem == nil)
      let wanted: [UInt8]? = round == 0 ? nil : [UInt8(round), UInt8(round - 1)]
      #expect(try reader.content(of: "file") == wanted, "\(round)")
    }
    try reader.close()
  }

  // MARK: Two machines

  /// A mount leaves what a killed session had not sent, if another machine has written since. A repair sends
  /// it and brings it back, however many sessions there were.
  @Test(arguments: [0, 3]) func whatAMachineHadNotSentWhenAnotherTookOverIsRecovered(
    sessionsSince: Int
  ) throws {
    let (first, second) = (Machine(self), Machine(self))
    let a = try first.open()
    try a.write([1], to: "sent by A")
    try a.barrierThere()
    // A part of it follows in the segment that was sent, and the others lie in new ones.
    let late = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 1000) }
    try a.write(late, to: "late")
    try a.write([9], to: "gone")
    a.remove("gone")
    try a.barrier()
    a.abandon()
    let b = try second.open()
    try b.write([3], to: "by B")
    try b.close()
    let third = Machine(self)
    for number in 0..<sessionsSince {
      let c = try third.open()
      try c.write([4], to: "by C \(number)")
      try c.close()
    }
    let waiting = try first.staged()
    #expect(code { _ = try first.open() } == .notSent)
    #expect(try first.staged() == waiting)
    let report = try first.repair()
    #expect(report.isComplete && !report.repairs.isEmpty)
    #expect(try first.staged().isEmpty)
    let space = try second.open()
    #expect(try space.content(of: "sent by A") == [1])
    #expect(try space.content(of: "by B") == [3])
    #expect(report.findings.contains { $0.severity == .damage && $0.path == "late" })
    #expect(try space.recovered("late") == late)
    #expect(try space.allRecovered().count == 1)
    #expect(space.status.recovery.wasClean)
    try space.close()
  }

  /// A repair that ends in the middle, whatever the reason, is begun anew, and until then no mount discards
  /// what it is about.
  @Test func anInterruptedRepairLosesNothing() throws {
    var call = 0
    while try StagedStoreTests().repair(interruptedBefore: call) { call += 11 }
    #expect(call > 30)
  }

  /// The same with Ctrl-C, after what waited was sent.
  @Test func aRepairThatWasStoppedIsRunAgain() throws {
    let first = Machine(self)
    try leaveBehind("late", on: first)
    #expect(try first.repair(progress: { _ in false }).isComplete == false)
    #expect(code { _ = try first.open() } == .notSent)
    #expect(try first.repair().isComplete)
    #expect(try recoversLate(first))
  }

  /// Returns false if the repair makes fewer calls.
  private func repair(interruptedBefore call: Int) throws -> Bool {
    let first = Machine(self)
    try leaveBehind("late", on: first)
    let hasEnded =
      code {
        _ = try first.repair(begins: {
          hook.set(after: call) { [isBroken] in isBroken.set(true) }
        })
      } == nil
    if hook.cancel() { return false }
    isBroken.set(false)
    // A mount either is refused, or has nothing to bring back any more.
    let refusal = code { try first.open().close() }
    #expect(refusal == nil || refusal == .notSent, "call \(call)")
    // Another machine works meanwhile, and looks for what nobody needs.
    let third = Machine(self)
    let c = try third.open()
    try c.write([5], to: "by C")
    var sweep = try c.compactor.beginSweep()
    try sweep.round(c.compactor)
    try c.close()
    if refusal != nil || !hasEnded { _ = try first.repair() }
    #expect(try recoversLate(first), "call \(call)")
    return true
  }

  /// A machine has written a file and not sent it when another one takes the space over.
  private func leaveBehind(_ name: String, on machine: Machine) throws {
    let a = try machine.open()
    try a.write([1], to: "sent by A")
    try a.barrierThere()
    try a.write([2], to: name)
    try a.barrier()
    a.abandon()
    let other = Machine(self)
    for number in 0..<3 {
      let b = try other.open()
      try b.write([3], to: "by B \(number)")
      try b.close()
    }
  }

  private func recoversLate(_ machine: Machine) throws -> Bool {
    let space = try machine.open()
    let recovered = try space.allRecovered()
    try space.close()
    return try recovered.values.contains([2]) && machine.staged().isEmpty
  }

  @Test func theSecondMachineStopsTheFirstAndNothingThatWasSentIsLost() throws {
    let (first, second) = (Machine(self), Machine(self))
    let a = try first.open()
    try a.write([1], to: "sent by A")
    try a.barrierThere()
    try a.write([2], to: "too late")
    let b = try second.open()
    try b.write([3], to: "by B")
    try b.barrierThere()
    #expect(code { try a.barrierThere() } == .inUse)
    #expect(a.isReadOnly)
    #expect(throws: StoreError.self) { try a.close() }
    try b.write([4], to: "by B later")
    try b.close()
    let files = try shown()
    #expect(files["sent by A"] == [1])
    #expect(files["by B"] == [3])
    #expect(files["by B later"] == [4])
  }

  /// The second machine takes the space over before each call that the first one makes. The first one either
  /// learns it, or had sent everything before.
  @Test func atEachMomentATakeoverLosesNothingThatCounted() throws {
    var call = 0
    while let outcome = try StagedStoreTests().takeOver(before: call) {
      #expect(outcome.isHarmless, "call \(call)")
      call += 1
    }
    #expect(call > 10)
  }

  /// Without its look at the fence, the first machine counts what nobody will see.
  @Test func theLookAtTheFenceIsNeeded() throws {
    var call = 0
    while let outcome = try StagedStoreTests().takeOver(before: call, omitting: [.fence]) {
      if !outcome.isHarmless { return }
      call += 1
    }
    Issue.record("nothing was lost")
  }

  private struct Outcome {
    var files: [String: [UInt8]]
    var firstHasCounted: Bool
    var secondHasCounted: Bool

    var isHarmless: Bool {
      files["0"] == [UInt8](repeating: 1, count: 200_000)
        && (!firstHasCounted || files["by A"] == [2]) && (!secondHasCounted || files["by B"] == [3])
    }
  }

  /// Returns nil if the first machine makes fewer calls.
  private func takeOver(
    before call: Int, omitting omitted: Set<Precaution> = []
  ) throws -> Outcome? {
    let (first, second) = (Machine(self), Machine(self))
    let a = try first.open(omitting: omitted)
    for number in 0..<4 { try a.write([UInt8](repeating: 1, count: 200_000), to: "\(number)") }
    try a.barrierThere()
    for number in 1..<4 { a.remove("\(number)") }
    try a.compact()
    try a.barrierThere()
    try a.write([2], to: "by A")
    let hasCounted = Flag()
    hook.set(after: call) {
      do {
        let b = try second.open()
        try b.write([3], to: "by B")
        try b.barrierThere()
        hasCounted.set(true)
        try b.close()
      } catch {}
    }
    var firstHasCounted = code { try a.barrierThere() } == nil
    _ = try? a.compact()
    firstHasCounted = code { try a.barrierThere() } == nil || firstHasCounted
    try? a.close()
    if hook.cancel() { return nil }
    return Outcome(
      files: try shown(), firstHasCounted: firstHasCounted, secondHasCounted: hasCounted.isSet)
  }
}

extension StorePlace {
  /// The files of the store by their paths.
  func files() throws -> [String: [UInt8]] {
    let directory = try PosixDirectory(path: directory.path)
    var files: [String: [UInt8]] = [:]
    for name in try directory.list("") where name != "segments" {
      files[name] = try directory.contents(of: name, limit: 1 << 24)
    }
    for folder in try directory.list("segments") {
      for name in try directory.list("segments/\(folder)") {
        let path = "segments/\(folder)/\(name)"
        files[path] = try directory.contents(of: path, limit: 1 << 24)
      }
    }
    return files
  }
}

private final class Flag: Sendable {
  private let value = Mutex(false, rank: .random)
  var isSet: Bool { value.withLock { $0 } }
  func set(_ isSet: Bool) { value.withLock { $0 = isSet } }
}

/// Runs code on another thread before a call.
private final class Hook: Sendable {
  private let due = Mutex<(call: Int, run: @Sendable () -> Void)?>(nil, rank: .random)

  /// Returns true if it has not run.
  func cancel() -> Bool {
    due.withLock { due in
      defer { due = nil }
      return due != nil
    }
  }

  /// Before the call after `count` others.
  func set(after count: Int, _ body: @escaping @Sendable () -> Void) {
    due.withLock { $0 = (count, body) }
  }

  func reach(_ number: Int) {
    let run = due.withLock { due -> (@Sendable () -> Void)? in
      guard let (left, run) = due else { return nil }
      due = left == 0 ? nil : (left - 1, run)
      return left == 0 ? run : nil
    }
    if let run, let thread = try? PosixThread(name: "other machine", run) { thread.join() }
  }
}
