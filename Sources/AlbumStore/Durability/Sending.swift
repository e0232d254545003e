import AlbumFormat
package import AlbumModel
import AlbumSecrets
import Logging
import Posix

import struct Synchronization.Atomic

// A store that lies elsewhere (`StorageRelay`): everything above works on files of this machine, and this
// brings them there. What arrived is at every moment a state that was, as on a disk:
//
// 1. Everything written is on disk here. So a power cut here loses nothing that was sent, and the files that
//    the next session sends contain what is there.
// 2. The newest journal segment is copied as it is now.
// 3. If a later fence exists there, nothing is sent. What another session does not know is kept here.
// 4. Checkpoints are sent, then what was announced: the journal of a session that has sent nothing yet, as it
//    was before the session made its first data segment. Without a journal that names their session, segments
//    would show that the journal is lost.
// 5. What was removed here before the copy is removed there. The journal there already says that it may go.
// 6. All other segments are sent, then the journal in its order. A full segment of it is first sent without
//    its seal, which would say that there is a next one.
// 7. If no later fence exists there now, the copied state is there for good. Whoever takes the space over
//    later makes his fence after this look, and finds it.
//
// A segment goes only if the state that is there for good does not need it, nor any that may have arrived.

/// How much of a space is where the store lies, if that is elsewhere.
package struct SendingStatus: Sendable, Equatable {
  /// Everything that was changed until then is there; nil if this session has sent nothing yet.
  package var until: Timestamp?
  /// What waits on this machine.
  package var unsentBytes: Int64
  /// Why the last attempt to send something failed; nil if it did not.
  package var problem: String?
}

extension Durability {
  private var relay: (any StorageRelay)? { files.directory.relay }

  /// Returns when everything that was changed before the call is where the store lies. If that is here, it
  /// is a `barrier`.
  func barrierThere() throws(StoreError) {
    try barrier()
    try sendForUser()
  }

  /// The barrier of a user's fsync.
  func barrierOfUser() throws(StoreError) {
    if options.syncsThere { try barrierThere() } else { try barrier() }
  }

  /// Sends what is on this machine. Throws `.notSent` if that is possible later, or by the next mount here.
  func sendForUser() throws(StoreError) {
    do throws(StoreError) { try sendAll() } catch {
      if health.isReadOnly { throw error }
      let reason = relay?.condition.problem ?? error.message
      throw StoreError(
        .notSent,
        "what was written last is on the disk of this machine, and not in the object storage yet (\(reason)); "
          + "albumfs sends it as soon as it can, or when the space is mounted on this machine again",
        path: error.path, cause: error.cause)
    }
  }

  /// nil: the store lies here.
  var sendingStatus: SendingStatus? {
    guard let condition = relay?.condition, !options.readOnly else { return nil }
    return SendingStatus(
      until: sentUntil.withLock { $0 }, unsentBytes: condition.unsentBytes,
      problem: hasUnsent || files.directory.outages?.current != nil ? condition.problem : nil)
  }

  /// Sends what is on this machine. Does nothing if the store lies here.
  func sendAll() throws(StoreError) {
    guard let relay, !options.readOnly else { return }
    try sending.withLock { isProven throws(StoreError) in
      if isProven, !hasUnsent { return }
      isProven = false
      try send(through: relay)
      isProven = true
    }
  }

  /// True if something waits to be sent.
  var hasUnsent: Bool {
    guard let relay else { return false }
    return !relay.unsent.isEmpty || !relay.unsentRemovals.isEmpty
  }

  /// Makes room for what is written here. Returns false if that is not done by sending.
  func makeRoomBySending() throws(StoreError) -> Bool {
    if !hasUnsent { return false }
    try sendAll()
    return true
  }

  private func send(through relay: any StorageRelay) throws(StoreError) {
    try health.requireWritable()
    try requireSoleWriterThere()
    let begin = SystemClock.wall()
    let (shipment, needs, proven) = try journal.withLock { journal throws(StoreError) in
      try flushContent()
      try syncAll()
      let needs = JournalNeeds(journal)
      let proven = provenFrame.load(ordering: .acquiring)
      let shipment = try Shipment(files, relay)
      journal.sent.append(needs)
      return (shipment, needs, proven)
    }
    try shipment.send(omitting: options.omitting)
    try requireSoleWriterThere()
    journal.withLock { $0.sent = [needs] }
    provenThere.store(proven, ordering: .releasing)
    sentUntil.withLock { $0 = begin }
  }

  /// Keeps the journal as it is now, to be sent before the session's first data, unless a part of it was sent
  /// already: that names the session, and a later part counts only behind all of it. The caller holds the
  /// journal's lock.
  func announceJournal() throws(StoreError) {
    guard let relay, !options.omitting.contains(.announcedThere) else { return }
    let paths = Shipment.segments(.journal, in: relay.unsent, files)
    do throws(Errno) { try relay.announce(paths, beginningWith: Shipment.emptyCell()) } catch {
      throw StoreError(writing: paths.first ?? "", error)
    }
  }
}

/// One state of a space on its way.
struct Shipment {
  /// The journal segments, the oldest first. The last one as it was, because it grows.
  private var journals: [String]
  private let newest: (any StagedCopy)?
  private let removals: [String]
  private let files: SegmentFiles
  private let relay: any StorageRelay

  /// Copies what later changes would alter. The caller holds the journal's lock.
  init(_ files: SegmentFiles, _ relay: any StorageRelay) throws(StoreError) {
    (self.files, self.relay) = (files, relay)
    journals = Shipment.segments(.journal, in: relay.unsent, files)
    removals = relay.unsentRemovals
    guard let last = journals.popLast() else {
      newest = nil
      return
    }
    newest = try sending(last) { () throws(Errno) in try relay.copy(last) }
  }

  /// What stands in the place of a seal that is not there yet.
  static func emptyCell() -> [UInt8] { RandomFill.bytes(SegmentSeal.reservedByteCount) }

  /// The paths of the space's segments of a kind among these, in their order.
  static func segments(
    _ kind: SegmentKind, in paths: Set<String>, _ files: SegmentFiles
  ) -> [String] {
    paths.compactMap { path -> (SegmentNumber, String)? in
      guard let name = SegmentName(text: String(path.suffix(32))),
        let found = files.keys.segment(named: name), found.kind == kind
      else { return nil }
      return (found.number, path)
    }.sorted { $0.0 < $1.0 }.map(\.1)
  }

  func send(omitting omitted: Set<Precaution>) throws(StoreError) {
    if omitted.contains(.dataSentFirst) { try sendJournal() }
    let checkpoints = Shipment.segments(.checkpoint, in: relay.unsent, files)
    try sending(checkpoints.first ?? "") { () throws(Errno) in
      try relay.send(checkpoints)
      try relay.sendAnnounced()
      try relay.sendRemovals(removals)
    }
    let unsent = relay.unsent
    let others = unsent.subtracting(Shipment.segments(.journal, in: unsent, files))
    try sending(others.first ?? "") { () throws(Errno) in try relay.send(others) }
    if !omitted.contains(.dataSentFirst) { try sendJournal() }
  }

  private func sendJournal() throws(StoreError) {
    for path in journals {
      try sending(path) { () throws(Errno) in
        try relay.send(path, beginningWith: Shipment.emptyCell())
      }
    }
    guard let newest else { return }
    try sending("") { () throws(Errno) in
      try relay.send(newest)
      try relay.send(journals)
    }
  }
}

/// Names the file that could not be sent, if it is known.
private func sending<Result>(
  _ path: String, _ body: () throws(Errno) -> Result
) throws(StoreError) -> Result {
  do throws(Errno) { return try body() } catch { throw StoreError("send", path, error) }
}
