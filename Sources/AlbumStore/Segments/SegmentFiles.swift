import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

import struct Synchronization.Atomic

/// The segment files of one space. Finds them by their keyed names, creates, opens, syncs and seals them, and
/// records which files and folders were written since their last sync. Touches the folder `segments` and
/// nothing else of the store; it does not know what a segment holds. Only `Removal` unlinks a complete
/// segment. Any thread.
///
/// `state` (rank `files`) is never held during disk work. `syncing` is held during the syncs of its kind.
final class SegmentFiles: Sendable {
  let directory: any StorageDirectory
  let keys: SpaceKeys
  /// Bytes of a segment, equal for all segments of the store.
  let segmentSize: Int
  /// Images of segments that are being filled.
  let images: ScratchPool
  /// The unused images that are kept in use: as many threads may each be writing out a full segment.
  private static let imagesInUse = 8
  /// The number that is kept while nobody uses the space.
  private static let imagesAtRest = 3
  /// True in a session that writes nothing. Where the disk cannot read, `load` then returns zeros, a segment
  /// has no seal, and `unreadable` names it. Otherwise such an error ends the call.
  let toleratesReadErrors: Bool
  let clock: StoreClock
  /// Records segments that begin and go.
  let trace: EventTracer?
  /// The birth of new segments.
  let session = SegmentBirth.random()
  /// The number of segments that this session has made.
  let created = Atomic<Int>(0)
  /// The chaff that this session adds for them.
  let chaff = Mutex(SessionChaff(), rank: .leaf)

  /// The number of descriptors kept open for reading. A running read keeps its own reference.
  private static let cacheLimit = 256

  private struct State {
    var readable: [SegmentID: any StorageFile] = [:]
    var unsynced: [SegmentID: any StorageFile] = [:]
    /// Complete segments without a seal.
    var ended: [SegmentID: EndedSegment] = [:]
    /// The names of segments, as far as their births are known.
    var names: [SegmentID: (birth: SegmentBirth, name: SegmentName)] = [:]
    /// Folders with new or removed names, by the kind of the segments, so that a sync of one kind does not
    /// wait for another.
    var unsyncedDirectories: [SegmentKind: Set<String>] = [:]
    var knownDirectories: Set<String> = []
    /// Segments whose sync failed: their bytes may be on disk or not, and no later sync shows which.
    var suspects: Set<SegmentID> = []
    /// Former suspects. Their content was written anew, or does not count.
    var givenUp: Set<SegmentID> = []
    /// Objects of the wrong type in the place of segments, by path.
    var misplaced: [String: Errno] = [:]
    /// The segments of the space that recovery has listed. One of them that is not there when it is read was
    /// taken away meanwhile, for example by a cloud's client or a loose cable. That is an error of the disk.
    /// It is no evidence of what the session before has written.
    var listed: Set<SegmentName> = []
    /// The read errors after which reading continued, by path.
    var unreadable: [String: Errno] = [:]
    /// A directory could not be synced: from then on it is uncertain which segments exist.
    var lostDirectory: StoreError?
  }
  private let state = Mutex(State(), rank: .files)
  /// The segments as they were listed, with what this session made and removed since; nil before that.
  let listing = Mutex<SegmentListing?>(nil, rank: .leaf)
  /// The folders whose times were not those at rest when they were listed: a session was killed there.
  let unsettledFolders = Mutex<Set<String>>([], rank: .leaf)
  /// Held while files of one kind are synced, outside `state`. A caller that finds nothing left to sync must
  /// not continue while another caller still syncs it. Each kind has its own lock, so that a barrier does
  /// not wait for a checkpoint on a slow disk.
  private final class SyncLock: Sendable { let mutex = Mutex((), rank: .sync) }
  private let syncing = Dictionary(
    uniqueKeysWithValues: SegmentKind.allCases.map { ($0, SyncLock()) })
  /// False if the disk may not have taken back the room of a removed segment yet. Nobody knows that of the
  /// session before.
  let hasSettledRemovals = Atomic<Bool>(false)
  /// The reserved segments that exist; nil before the first look. Held while they are made.
  let reserve = Mutex<Set<SegmentNumber>?>(nil, rank: .reserve)

  init(
    directory: any StorageDirectory, keys: SpaceKeys, segmentSize: Int,
    toleratesReadErrors: Bool = false, clock: StoreClock = StoreClock(), trace: EventTracer? = nil
  ) {
    self.directory = directory
    self.keys = keys
    self.segmentSize = segmentSize
    self.toleratesReadErrors = toleratesReadErrors
    self.clock = clock
    self.trace = trace
    images = ScratchPool(byteCount: segmentSize, kept: SegmentFiles.imagesInUse)
  }

  /// Returns the memory of a stream of writes to the kernel, when nobody uses the space.
  func rest() { images.shrink(to: SegmentFiles.imagesAtRest) }

  /// A segment of unknown birth has a name that no file has.
  func name(_ id: SegmentID) -> SegmentName {
    state.withLock { $0.names[id]?.name } ?? name(id, .none)
  }

  func name(_ id: SegmentID, _ birth: SegmentBirth) -> SegmentName {
    keys.name(of: id.kind, number: id.number, birth: birth)
  }

  func path(_ id: SegmentID) -> String { SegmentPath.path(of: name(id)) }

  /// The birth of a segment; nil if it is unknown.
  func birth(_ id: SegmentID) -> SegmentBirth? {
    state.withLock { $0.names[id]?.birth }
  }

  /// Chooses the segment with this birth for its number, even if there are others.
  func use(_ id: SegmentID, _ birth: SegmentBirth) {
    if self.birth(id) == birth { return }
    let name = name(id, birth)
    state.withLock { state in
      state.names[id] = (birth, name)
      state.readable[id] = nil
    }
  }

  /// Takes the births of segments from their names in the store, if no caller has chosen one.
  func adoptNames(_ listing: SegmentListing) {
    state.withLock { state in
      for (id, found) in listing.own where state.names[id] == nil {
        state.names[id] = found[found.count - 1]
      }
    }
  }

  /// Opens the file of a segment for reading.
  func open(_ id: SegmentID) throws(StoreError) -> any StorageFile {
    if let file = state.withLock({ $0.readable[id] }) { return file }
    let path = path(id)
    let file: any StorageFile
    do throws(Errno) { file = try directory.open(path, .read) } catch {
      _ = isMisplaced(id, error)
      throw StoreError(reading: path, error)
    }
    state.withLock {
      if $0.readable.count >= SegmentFiles.cacheLimit { _ = $0.readable.popFirst() }
      $0.readable[id] = file
    }
    return file
  }

  /// Opens segments anew when they are read next.
  func closeReadable() { state.withLock { $0.readable = [:] } }

  /// Creates the file of a new segment.
  func create(_ id: SegmentID) throws(StoreError) -> any StorageFile {
    let name = name(id)
    let folder = SegmentPath.directory(of: name)
    let path = SegmentPath.path(of: name)
    do throws(Errno) {
      try makeFolder(folder)
      let file = try createOnce(id, path, in: folder)
      if let birth = birth(id) { listing.withLock { $0?.insert(id, birth, name) } }
      RestingTimes.settle(folder, in: directory)
      created.wrappingAdd(1, ordering: .relaxed)
      state.withLock { _ = $0.unsyncedDirectories[id.kind, default: []].insert(folder) }
      return file
    } catch {
      throw StoreError(writing: path, error)
    }
  }

  /// Takes over that a segment was created by another way.
  func recordMade(_ id: SegmentID) {
    guard let birth = birth(id) else { return }
    let name = name(id)
    listing.withLock { $0?.insert(id, birth, name) }
  }

  /// The reply of a network may be lost, and the call comes twice. Nobody else has this session's names.
  private func createOnce(
    _ id: SegmentID, _ path: String, in folder: String
  ) throws(Errno) -> any StorageFile {
    do throws(Errno) { return try createFile(path, in: folder) } catch {
      let mayBeOurs = directory.outages != nil && birth(id) == session
      if error != .exists || !mayBeOurs { throw error }
      return try directory.open(path, .readWrite)
    }
  }

  private func createFile(_ path: String, in folder: String) throws(Errno) -> any StorageFile {
    // Another process removed the folder meanwhile, or a server lost it, which may happen again.
    var attempts = directory.outages == nil ? 1 : 4
    while true {
      do throws(Errno) { return try directory.open(path, .createNew) } catch {
        if error != .noEntry || attempts == 0 { throw error }
      }
      attempts -= 1
      state.withLock { _ = $0.knownDirectories.remove(folder) }
      try makeFolder(folder)
    }
  }

  private func makeFolder(_ folder: String) throws(Errno) {
    if state.withLock({ $0.knownDirectories.contains(folder) }) { return }
    do throws(Errno) { try directory.makeDirectory(folder) } catch {
      if error != .exists { throw error }
    }
    // An existing folder may be from a session that was killed before it was synced.
    state.withLock {
      $0.knownDirectories.insert(folder)
      for kind in SegmentKind.allCases {
        $0.unsyncedDirectories[kind, default: []].insert(SegmentPath.root)
      }
    }
  }

  /// Enqueues a written file for the next sync.
  func enqueueForSync(_ id: SegmentID, _ file: any StorageFile) {
    state.withLock { $0.unsynced[id] = file }
  }

  /// Takes every segment of a listing for one that is there, until `forgetListing`.
  func rely(on listing: SegmentListing) {
    let names = Set(listing.own.values.flatMap { $0.map(\.name) })
    state.withLock { $0.listed = names }
  }

  func forgetListing() { state.withLock { $0.listed = [] } }

  /// True if no file has the name, and none had it when the store was listed.
  func isAbsent(_ name: SegmentName, _ error: Errno) -> Bool {
    error == .noEntry && !state.withLock { $0.listed.contains(name) }
  }

  /// The error of a segment that cannot be read.
  func unread(_ name: SegmentName, _ error: Errno) -> StoreError {
    let path = SegmentPath.path(of: name)
    if error != .noEntry { return StoreError(reading: path, error) }
    return StoreError(
      .inputOutput,
      "\(path) was in the store a moment ago and is not there now: something takes files of the store away; "
        + "try again when they stay", path: path, cause: error)
  }

  /// Enqueues a complete segment for its seal, which it gets after the next sync.
  func enqueueForSeal(_ id: SegmentID, _ ended: EndedSegment) {
    state.withLock { $0.ended[id] = ended }
  }

  /// Seals those of `candidates` that are synced. A segment without a seal is only trusted less by a later
  /// mount.
  private func seal(_ candidates: Set<SegmentID>) {
    let ended = state.withLock { state in
      let ended = state.ended.filter {
        candidates.contains($0.key) && state.unsynced[$0.key] == nil
      }
      for id in ended.keys { state.ended[id] = nil }
      return ended.filter { !state.suspects.contains($0.key) && !state.givenUp.contains($0.key) }
    }
    for (id, segment) in ended { segment.seal(name(id), keys.cipher) }
  }

  /// Syncs the files of these kinds and all new directory entries, then checks that each file is where a
  /// later mount looks for it. A file whose sync failed, or that another process moved away, becomes a
  /// suspect: it is never synced again, and while there is one, nothing counts as synced.
  func sync(_ kinds: [SegmentKind]) throws(StoreError) {
    for kind in kinds {
      guard let lock = syncing[kind] else { continue }
      try lock.mutex.withLock { _ throws(StoreError) in
        // A seal proves what was written before its segment ended, so all of that is synced first.
        let ended = state.withLock { Set($0.ended.keys.filter { $0.kind == kind }) }
        let written = try syncFiles(kind)
        try syncDirectories(kind)
        try requireInPlace(written)
        seal(ended)
        if let suspect = suspects.first(where: { $0.kind == kind }) {
          throw StoreError(syncing: path(suspect), .io)
        }
      }
    }
  }

  /// Syncs the files of one kind without blocking other callers. The next `sync` syncs them again, and then
  /// has little to do.
  func syncAhead(_ kind: SegmentKind) throws(StoreError) {
    let unsynced = state.withLock { state in
      state.unsynced.compactMap { $0.key.kind == kind ? ($0.key, $0.value) : nil }
    }
    for (id, file) in unsynced {
      do throws(Errno) { try file.sync() } catch {
        suspect(id)
        throw StoreError(syncing: path(id), error)
      }
    }
  }

  /// Returns what was written.
  private func syncFiles(_ kind: SegmentKind) throws(StoreError) -> [SegmentID: any StorageFile] {
    let unsynced = state.withLock { $0.unsynced.filter { $0.key.kind == kind } }
    var failure: StoreError?
    for (id, file) in unsynced {
      // A write meanwhile adds it again.
      state.withLock { $0.unsynced[id] = nil }
      do throws(Errno) { try file.sync() } catch {
        failure = StoreError(syncing: path(id), error)
        suspect(id)
      }
    }
    if let failure { throw failure }
    return unsynced
  }

  private func requireInPlace(_ written: [SegmentID: any StorageFile]) throws(StoreError) {
    var failure: StoreError?
    for (id, file) in written {
      do throws(StoreError) { try requireInPlace(id, file, at: path(id)) } catch {
        failure = error
        suspect(id)
      }
    }
    if let failure { throw failure }
  }

  /// A segment counts as written if its path leads to the very file that was written. If another process
  /// replaced its folder by another folder or a link, a mount would not find it.
  func requireInPlace(_ id: SegmentID, _ file: any StorageFile, at path: String)
    throws(StoreError)
  {
    do throws(Errno) { if try directory.holds(file, at: path) { return } } catch {
      throw StoreError(syncing: path, error)
    }
    let folder = SegmentPath.directory(of: name(id))
    state.withLock { state in
      // Creates the folder again if it is gone. The open file still serves reads of its content.
      state.knownDirectories.remove(folder)
      state.readable[id] = file
    }
    throw movedAway(id)
  }

  private func syncDirectories(_ kind: SegmentKind) throws(StoreError) {
    let (folders, lost) = state.withLock { state in
      (state.unsyncedDirectories.removeValue(forKey: kind) ?? [], state.lostDirectory)
    }
    if let lost { throw lost }
    for folder in folders {
      do throws(Errno) { try directory.syncDirectory(folder) } catch {
        // The cache lost nothing here: what was written is not in its place.
        if error == .noEntry || error.isMisplaced { continue }
        let failure = StoreError(syncing: folder, error)
        state.withLock { $0.lostDirectory = failure }
        throw failure
      }
    }
  }

  /// Returns when the name of a segment, or its removal, is on disk.
  func syncFolder(of id: SegmentID) throws(StoreError) {
    try syncFolder(SegmentPath.directory(of: name(id)))
  }

  /// Returns when the disk records which of these segments exist.
  func syncFolders(of names: [SegmentName]) throws(StoreError) {
    for folder in Set(names.map { SegmentPath.directory(of: $0) }) {
      try syncFolder(folder, mayBeMissing: true)
    }
  }

  private func syncFolder(_ folder: String, mayBeMissing: Bool = false) throws(StoreError) {
    do throws(Errno) { try directory.syncDirectory(folder) } catch {
      if mayBeMissing, error == .noEntry { return }
      let failure = StoreError(syncing: folder, error)
      state.withLock { $0.lostDirectory = failure }
      throw failure
    }
  }

  /// Segments whose write or sync failed.
  var suspects: Set<SegmentID> { state.withLock { $0.suspects } }

  /// Segments of which not everything is known to be on disk.
  var unsyncedSegments: Set<SegmentID> {
    state.withLock { state in
      state.suspects.union(state.unsynced.keys).union(state.ended.keys)
    }
  }

  /// On a network, no descriptor of before an outage is worth anything, and what it had not synced may be
  /// lost. A checkpoint under way fails by itself.
  func suspectUnsynced() {
    state.withLock { state in
      let unsynced = Set(state.unsynced.keys).union(state.ended.keys)
      state.suspects.formUnion(unsynced.filter { $0.kind == .data || $0.kind == .journal })
    }
  }

  func suspect(_ id: SegmentID) { state.withLock { _ = $0.suspects.insert(id) } }

  /// Nothing in a suspect counts any more, so it needs no sync.
  func giveUp(_ id: SegmentID) {
    state.withLock { state in
      state.suspects.remove(id)
      state.unsynced[id] = nil
      state.givenUp.insert(id)
    }
  }

  /// True if it is uncertain which segments exist.
  var hasLostDirectory: Bool { state.withLock { $0.lostDirectory != nil } }

  /// Locks that threads hold.
  var heldLocks: [HeldLock] {
    [reserve.held(as: "reserve"), state.held(as: "files")].compactMap { $0 }
      + syncing.compactMap { $0.value.mutex.held(as: "sync of \($0.key)") }
  }

  /// Records that the file of a segment was unlinked.
  func recordRemoved(_ id: SegmentID) {
    hasSettledRemovals.store(false, ordering: .releasing)
    let name = name(id)
    let folder = SegmentPath.directory(of: name)
    listing.withLock { $0?.remove(id, name) }
    state.withLock {
      $0.readable[id] = nil
      $0.unsynced[id] = nil
      $0.ended[id] = nil
      $0.unsyncedDirectories[id.kind, default: []].insert(folder)
    }
  }

  func recordUnreadable(_ path: String, _ error: Errno) {
    state.withLock { $0.unreadable[path] = error }
  }

  /// True if an object of the wrong type was found in the place of a segment.
  func isMisplaced(_ id: SegmentID) -> Bool {
    let path = path(id)
    return state.withLock { $0.misplaced[path] != nil }
  }

  /// True if the disk could not read a segment in full.
  func isUnreadable(_ id: SegmentID) -> Bool {
    let path = path(id)
    return state.withLock { $0.unreadable[path] != nil }
  }

  /// The segments that the disk could not read in full, found where `toleratesReadErrors`.
  var unreadable: [StoreError] {
    state.withLock { $0.unreadable }.sorted { $0.key < $1.key }.map {
      StoreError(reading: $0.key, $0.value)
    }
  }

  /// True if an object of the wrong type lies in the place of a segment; records it.
  func isMisplaced(_ id: SegmentID, _ error: Errno) -> Bool {
    if !error.isMisplaced { return false }
    let path = path(id)
    state.withLock { $0.misplaced[path] = error }
    return true
  }

  /// Records an object of the wrong type in the place of a folder of segments.
  func recordMisplaced(_ path: String, _ error: Errno) {
    state.withLock { $0.misplaced[path] = error }
  }

  /// The objects of the wrong type that were found in the place of segments or their folders.
  var misplaced: [StoreError] {
    state.withLock { $0.misplaced }.sorted { $0.key < $1.key }.map {
      StoreError(reading: $0.key, $0.value)
    }
  }
}
