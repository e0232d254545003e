import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

import struct Synchronization.Atomic

// Locks show who uses a store only as far as the file system passes them on: sshfs and the mounts of cloud
// drives do not, a server mounts what its clients mount too, and NFS drops the lock of a machine that slept
// longer than its lease. So a session that writes makes a fence: a segment with the number after the highest
// one, created only if it is absent. Whoever finds a fence after his own writes no more.
//
// - Only one of two sessions creates a fence of one number.
// - A session makes its fence when it begins its first journal segment. It does so only if the journal is
//   still as it read it, and looks once more after that: at the segment that it read last, at the one that
//   the session of the fence before it would begin, and whether that fence is still there. A mount that
//   changes nothing makes no fence.
// - A barrier counts when its frames are on disk and no later fence exists then. So what counted is on disk
//   before the next session makes its fence, and that session sees it or finds the journal changed.
// - Before it unlinks anything, a session looks for a later fence, too.
// - Only the newest fence stays, and older ones go in the order of their numbers. So a session that slept
//   while several others wrote finds the next fence, or misses its own, or finds another's in its place.
//
// Tests/FenceModel plays random schedules of these rules, and shows that each is needed.

/// The end of the newest journal segment, as recovery read it.
struct JournalEnd: Sendable {
  /// How many bytes tell whether something was written there.
  static let byteCount = RecordLayout.overhead

  var number: SegmentNumber
  var birth: SegmentBirth
  /// Where the next record would begin, and what was there.
  var offset: Int
  var bytes: [UInt8]
}

/// The fence of one session. `take` is called under the journal's lock; the rest from any thread.
final class Fence: Sendable {
  private let files: SegmentFiles
  /// The highest number when recovery listed the store; 0: there was none.
  private let known: UInt32
  /// nil: there is nothing to compare with.
  let end: JournalEnd?
  /// The segments with the number after it that were there then, of another timeline.
  private let others: Set<SegmentName>
  private let own = Atomic<UInt32>(0)
  /// The file of a fence that is not taken yet. Held while the fence is made.
  private let begun = Mutex<(any StorageFile)?>(nil, rank: .fence)
  /// True if this session has created the file, and an outage kept it from writing it.
  private let wasCreated = Atomic<Bool>(false)

  /// Of a space that is being made: there is none yet.
  init(ofNew files: SegmentFiles) {
    self.files = files
    (known, end, others) = (0, nil, [])
  }

  /// Behind what recovery read: the listing and the end of the journal.
  init(_ files: SegmentFiles, behind listing: SegmentListing, _ end: JournalEnd?) {
    self.files = files
    self.end = end
    known = listing.numbers(of: .fence).last?.rawValue ?? 0
    let next = end.map { Fence.successor(of: $0) }
    others = Set((next.flatMap { listing.own[$0] } ?? []).map(\.name))
  }

  private static func successor(of end: JournalEnd) -> SegmentID {
    SegmentID(kind: .journal, number: SegmentNumber(end.number.rawValue + 1))
  }

  var isTaken: Bool { own.load(ordering: .acquiring) != 0 }

  /// The newest fence that this session knows.
  var newest: UInt32 { max(known, own.load(ordering: .acquiring)) }

  /// Makes the fence, if this session has none. Throws `.inUse` if another session has written the space
  /// since this one read it, and the errors of the disk; then it may be called again. `spendsReserve`: a full
  /// disk may give up the reserve for it.
  func take(spendsReserve: Bool) throws(StoreError) {
    if isTaken { return }
    guard let relay = files.directory.relay else {
      return try takeOnce(spendsReserve: spendsReserve)
    }
    // The session stores nothing before it knows who writes. It waits for the network, and while the server
    // refuses, until somebody changes the credentials or the rights.
    var failure: StoreError?
    func isSettled() -> Bool {
      failure = nil
      do throws(StoreError) { try takeOnce(spendsReserve: false) } catch { failure = error }
      return failure?.cause != .timedOut && failure?.cause != .accessDenied
    }
    // The wait may end because another thread found the store, so only an attempt of this one settles it.
    var settled = isSettled()
    while !settled, let cause = failure?.cause {
      do throws(Errno) {
        try relay.wait(after: cause) {
          settled = isSettled()
          return settled
        }
      } catch { throw failure ?? StoreError(writing: "", error) }
    }
    if let failure { throw failure }
  }

  private func takeOnce(spendsReserve: Bool) throws(StoreError) {
    let former = try requireUnchanged()
    let number = SegmentNumber(known + 1)
    try begun.withLock { file throws(StoreError) in
      try make(number, behind: Fence.sessions(of: former), &file, spendsReserve)
    }
    // Whoever wrote until now finds the fence at his next barrier. What he wrote before it is not known here.
    try requireUnchanged()
    own.store(number.rawValue, ordering: .releasing)
    begun.withLock { $0 = nil }
  }

  /// The time between two looks of a watch, and that where each look is a request to a server.
  private static let lookInterval: Int64 = 250
  private static let lookIntervalThere: Int64 = 2000

  /// Watches the journal of a session that has not ended, for a mount where no lock shows whether it still
  /// works. Throws `.inUse` as soon as it goes on. A session that has something to write appends a barrier
  /// within 5 seconds. Where a store lies elsewhere, a session sends within 30 seconds, and its journal after
  /// all that it had to send: its segments show before.
  func watch(for time: Duration) throws(StoreError) {
    if time == .zero { return }
    let isElsewhere = files.directory.relay != nil
    let before = isElsewhere ? try files.list() : nil
    let end = MonotonicTime.now + time
    repeat {
      let left = max(0, (end - .now).milliseconds)
      let pause = isElsewhere ? Fence.lookIntervalThere : Fence.lookInterval
      SystemClock.sleep(milliseconds: UInt32(clamping: min(pause, left)))
      try requireUnchanged()
    } while MonotonicTime.now < end
    guard let before else { return }
    for id in try files.listAnew().own.keys where !before.contains(id) { throw goesOn }
  }

  private var goesOn: StoreError {
    StoreError(
      .inUse,
      "another session writes to the space: its journal has grown since this mount read it; unmount here or "
        + "there, and mount again")
  }

  /// True if one of these sessions made the newest fence, as recovery found it.
  func isOf(_ sessions: Set<SegmentBirth>) -> Bool {
    guard !sessions.isEmpty, let last = last else { return false }
    return sessions.contains(last.session)
  }

  /// The machine of the session that made the newest fence, as recovery found it.
  var machineBefore: String? { last?.machine }

  private var last: FenceRecord? {
    known == 0 ? nil : Fence.read(SegmentNumber(known), files)
  }

  /// Throws `.inUse` if a session that began later writes the space.
  func require() throws(StoreError) {
    let own = own.load(ordering: .acquiring)
    if own == 0 { return }
    if case .file(let other) = try Fence.look(at: SegmentNumber(own + 1), files) {
      throw takenOver(by: other)
    }
    // In this order: if the next one was made and removed before the first look, this one went before it.
    try begun.withLock { file throws(StoreError) in
      if case .file(let record) = try Fence.lookFirmly(at: SegmentNumber(own), files) {
        if record?.session != files.session { throw takenOver(by: record) }
        return
      }
      try requireNewest(SegmentNumber(own))
      let former = Fence.read(SegmentNumber(own - 1), files)
      try make(SegmentNumber(own), behind: Fence.sessions(of: former), &file, true)
      file = nil
    }
  }

  /// A fence is not there. Throws `.inUse` if that is because there are later ones; otherwise somebody moved
  /// the file away.
  private func requireNewest(_ number: SegmentNumber) throws(StoreError) {
    guard let newest = try files.listAnew().numbers(of: .fence).last, newest > number else {
      return
    }
    throw takenOver(by: Fence.read(newest, files))
  }

  static func id(_ number: SegmentNumber) -> SegmentID { SegmentID(kind: .fence, number: number) }

  private enum Sight: Sendable {
    case missing
    /// nil: it is unfinished or damaged.
    case file(FenceRecord?)
  }

  private static func look(at number: SegmentNumber, _ files: SegmentFiles) throws(StoreError)
    -> Sight
  {
    var sight = try lookOnce(at: number, files)
    if !files.directory.isReadFromServer { return sight }
    for _ in 1..<Fence.looksForVerdict {
      guard case .file(nil) = sight else { return sight }
      sight = try lookOnce(at: number, files)
    }
    return sight
  }

  /// Looks at a fence that should be there.
  private static func lookFirmly(
    at number: SegmentNumber, _ files: SegmentFiles
  ) throws(StoreError) -> Sight {
    for _ in 1..<(files.directory.isReadFromServer ? Fence.looksForVerdict : 1) {
      let sight = try look(at: number, files)
      if case .file = sight { return sight }
    }
    return try look(at: number, files)
  }

  private static func lookOnce(
    at number: SegmentNumber, _ files: SegmentFiles
  ) throws(StoreError) -> Sight {
    let name = name(number, files)
    let path = SegmentPath.path(of: name)
    let image = SegmentImage(byteCount: FenceRecord.offset + 2 * RecordLayout.grid)
    do throws(Errno) {
      image.used = try image.read(try files.openThere(path))
    } catch {
      if error == .noEntry { return .missing }
      if error.isMisplaced { return .file(nil) }
      throw StoreError(reading: path, error)
    }
    var walk = SegmentWalk(image, name: name, cipher: files.keys.cipher)
    guard let record = walk.next(), record.kind == .fence else { return .file(nil) }
    return .file(try? FenceRecord(decoding: record.plaintext))
  }

  /// The newest fence of a space; nil if it has none that can be read.
  static func newest(_ files: SegmentFiles) throws(StoreError) -> FenceRecord? {
    try files.listAnew().numbers(of: .fence).last.flatMap { read($0, files) }
  }

  /// Reads the fence of a number; returns nil if it cannot be read.
  static func read(_ number: SegmentNumber, _ files: SegmentFiles) -> FenceRecord? {
    if case .file(let record) = try? look(at: number, files) { record } else { nil }
  }

  private static func name(_ number: SegmentNumber, _ files: SegmentFiles) -> SegmentName {
    files.name(id(number), FenceRecord.birthOfAll)
  }

  private func takenOver(by other: FenceRecord?) -> StoreError {
    let who = other.map { "another session, on the machine \($0.machine)," } ?? "another session"
    if !isTaken {
      let rest = "this mount has stored nothing, and whoever closed or synced a file got an error"
      return StoreError(.inUse, "\(who) writes to the space now; \(rest)")
    }
    let rest =
      files.directory.relay == nil
      ? "the store keeps what this mount had not finished, and a repair brings it back"
      : "what this mount had not sent stays on this machine, until a repair here sends it and brings it back"
    return StoreError(.inUse, "\(who) writes to the space now; \(rest)", remedy: .repair)
  }

  // MARK: Making it

  /// `file`: what an earlier call created.
  private func make(
    _ number: SegmentNumber, behind former: [SegmentBirth], _ file: inout (any StorageFile)?,
    _ spendsReserve: Bool
  ) throws(StoreError) {
    let id = Fence.id(number)
    files.use(id, FenceRecord.birthOfAll)
    if let relay = files.directory.relay { return try make(id, behind: former, there: relay) }
    var made = file
    do throws(StoreError) {
      try files.findingRoom(spendsReserve: spendsReserve) { () throws(StoreError) in
        if made == nil { made = try create(id) }
        if let made { try write(id, behind: former, made) }
      }
    } catch {
      file = nil
      if made != nil, files.directory.outages != nil, error.cause?.mayBeOutage ?? false {
        wasCreated.store(true, ordering: .relaxed)
      } else if made != nil {
        try? files.directory.remove(files.path(id))
        files.recordRemoved(id)
      }
      throw error
    }
    file = made
    try files.sync([.fence])
  }

  /// Makes it where the store lies, and not here first: only there it is known who was first.
  private func make(
    _ id: SegmentID, behind former: [SegmentBirth], there relay: any StorageRelay
  ) throws(StoreError) {
    let image = files.images.take()
    defer { files.images.give(image) }
    seal(id, behind: former, into: image)
    do throws(Errno) {
      try relay.create(files.path(id), unsafe Array(UnsafeRawBufferPointer(image.bytes)))
    } catch {
      if error != .exists { throw StoreError(writing: files.path(id), error) }
      // An earlier attempt of this session may have arrived after all.
      guard case .file(let found) = try Fence.lookFirmly(at: id.number, files) else {
        throw StoreError(writing: files.path(id), error)
      }
      if found?.session != files.session { throw takenOver(by: found) }
    }
    files.recordMade(id)
  }

  private func create(_ id: SegmentID) throws(StoreError) -> any StorageFile {
    do throws(StoreError) { return try files.create(id) } catch {
      if error.cause == .exists, wasCreated.load(ordering: .relaxed) {
        return try open(files.path(id))
      }
      if error.cause == .exists { throw takenOver(by: Fence.read(id.number, files)) }
      throw error
    }
  }

  private func open(_ path: String) throws(StoreError) -> any StorageFile {
    do throws(Errno) { return try files.directory.open(path, .readWrite) } catch {
      throw StoreError(writing: path, error)
    }
  }

  private func write(
    _ id: SegmentID, behind former: [SegmentBirth], _ file: any StorageFile
  ) throws(StoreError) {
    let image = files.images.take()
    defer { files.images.give(image) }
    seal(id, behind: former, into: image)
    do throws(Errno) {
      try unsafe file.write(UnsafeRawBufferPointer(image.bytes), at: 0)
      try file.setModificationTime(image.checksum.time)
      try file.sync()
    } catch { throw StoreError(writing: files.path(id), error) }
  }

  private func seal(_ id: SegmentID, behind former: [SegmentBirth], into image: SegmentImage) {
    unsafe RandomFill.fill(image.bytes)
    let record = FenceRecord(
      session: files.session, time: files.clock.now, former: former,
      machine: AddressText.hostName ?? "unknown")
    unsafe record.encoded().withUnsafeBytes { plaintext in
      let sealed = RecordLayout.sealedByteCount(plaintext: plaintext.count)
      let range = FenceRecord.offset..<FenceRecord.offset + sealed
      unsafe files.keys.cipher.seal(
        plaintext, kind: .fence, segment: files.name(id), offset: Int64(FenceRecord.offset),
        into: UnsafeMutableRawBufferPointer(rebasing: image.bytes[range]))
    }
  }

  /// The sessions of a fence and of those before it, as it says.
  private static func sessions(of record: FenceRecord?) -> [SegmentBirth] {
    record.map { [$0.session] + $0.former } ?? []
  }

  /// True if another session has written since recovery read the journal, or may be about to.
  func hasMoved() throws(StoreError) -> Bool {
    if case .file = try Fence.look(at: SegmentNumber(known + 1), files) { return true }
    let surroundings = try lookAround()
    // Others have followed, and the last one has removed the fences before its own.
    if known > 0, case .missing = surroundings.former { return true }
    return !surroundings.isUnchanged
  }

  /// Throws `.inUse` if another session has written since recovery read the journal. Returns what the fence
  /// before says.
  @discardableResult
  private func requireUnchanged() throws(StoreError) -> FenceRecord? {
    let surroundings = try lookAround()
    if !surroundings.isUnchanged { throw goesOn }
    if case .file(let former) = surroundings.former { return former }
    // In this order: the next fence goes only after this one.
    if known > 0 { try requireNewest(SegmentNumber(known + 1)) }
    return nil
  }

  /// The state, at this look, of the files that recovery read.
  private struct Surroundings: Sendable {
    /// The fence that was the newest.
    var former = Sight.missing
    /// True if the journal does not go on.
    var isUnchanged = true
  }

  private enum Look: Sendable {
    case former, end, successor
  }

  /// The order of these looks does not matter, only whether all of them are before or after the fence is
  /// made. So they are made at once where each is a request to a server.
  private func lookAround() throws(StoreError) -> Surroundings {
    let looks = (known > 0 ? [.former] : []) + (end == nil ? [] : [Look.end, .successor])
    let lanes = files.directory.isReadFromServer ? looks.count : 1
    var surroundings = Surroundings()
    for seen in try inLanes(lanes, looks, { [self] look throws(StoreError) in try seen(look) }) {
      if case .file = seen.former { surroundings.former = seen.former }
      if !seen.isUnchanged { surroundings.isUnchanged = false }
    }
    if let end, surroundings.isUnchanged, case .file(let last?) = surroundings.former,
      last.session != end.birth
    {
      surroundings.isUnchanged = try !hasSuccessor(of: end, by: last.session)
    }
    return surroundings
  }

  private func seen(_ look: Look) throws(StoreError) -> Surroundings {
    var seen = Surroundings()
    guard let end, look != .former else {
      seen.former = try Fence.look(at: SegmentNumber(known), files)
      return seen
    }
    if look == .successor {
      seen.isUnchanged = try !hasSuccessor(of: end, by: end.birth)
      return seen
    }
    seen.isUnchanged = try !isConfirmed { () throws(StoreError) in try !isAsRead(end) }
    return seen
  }

  /// True if a session has begun the journal segment behind the end.
  private func hasSuccessor(
    of end: JournalEnd, by session: SegmentBirth
  ) throws(StoreError) -> Bool {
    let name = files.name(Fence.successor(of: end), session)
    if others.contains(name) { return false }
    return try isConfirmed { () throws(StoreError) in try files.existsThere(name) }
  }

  /// How often a server has to say the same before that ends a session: one reply may be wrong, or be that to
  /// another request.
  private static let looksForVerdict = 4

  private func isConfirmed(_ look: () throws(StoreError) -> Bool) throws(StoreError) -> Bool {
    for _ in 0..<(files.directory.isReadFromServer ? Fence.looksForVerdict : 1) {
      if try !look() { return false }
    }
    return true
  }

  /// A segment that is not there any more tells nothing.
  private func isAsRead(_ end: JournalEnd) throws(StoreError) -> Bool {
    let id = SegmentID(kind: .journal, number: end.number)
    let path = SegmentPath.path(of: files.name(id, end.birth))
    do throws(Errno) {
      let file = try files.openThere(path)
      return try file.bytes(at: Int64(end.offset), count: end.bytes.count) == end.bytes
    } catch {
      if error == .noEntry || error.isMisplaced { return true }
      throw StoreError(reading: path, error)
    }
  }
}

extension SegmentListing {
  /// The number of the fence of each session, as far as these exist and can be read.
  func fences(_ files: SegmentFiles) -> [SegmentBirth: UInt32] {
    var found: [SegmentBirth: UInt32] = [:]
    for number in numbers(of: .fence) {
      guard let record = Fence.read(number, files) else { continue }
      for (step, birth) in ([record.session] + record.former).enumerated()
      where birth != .none && step < number.rawValue {
        found[birth] = number.rawValue - UInt32(step)
      }
    }
    return found
  }
}
