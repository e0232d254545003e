import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

import struct Synchronization.Atomic

/// Which segment of a space.
struct SegmentID: Hashable, Sendable {
  let kind: SegmentKind
  let number: SegmentNumber
}

/// The segment files of one space: finds them by their keyed names, opens and makes them, and
/// knows which files and directories were written since they were last synced. Any thread.
///
/// The lock of its state is innermost: nothing else is called under it.
final class SegmentFiles: Sendable {
  let directory: any StorageDirectory
  let keys: SpaceKeys
  /// Bytes, the same for all segments of the store.
  let segmentSize: Int
  /// Images of segments that are being filled.
  let images: ScratchPool
  /// Where the disk answers errors `load` gives what can be read and zeros for the rest: for a check.
  let readsAround: Bool
  let clock: StoreClock
  /// The birth of all segments that are made.
  let session = SegmentBirth.random()
  /// How many segments this session has made.
  let created = Atomic<Int>(0)
  /// The chaff that it is to add for them.
  let chaff = Mutex(SessionChaff())

  /// Descriptors kept open for reading; a file under way keeps its own reference.
  private static let cacheLimit = 256

  private struct State {
    var readable: [SegmentID: any StorageFile] = [:]
    var unsynced: [SegmentID: any StorageFile] = [:]
    /// Finished ones that have no seal yet.
    var ended: [SegmentID: EndedSegment] = [:]
    /// The names of segments, as far as their births are known.
    var names: [SegmentID: (birth: SegmentBirth, name: SegmentName)] = [:]
    /// Folders with new or removed names, by the kind of the segments: who syncs one kind waits for no
    /// other.
    var unsyncedDirectories: [SegmentKind: Set<String>] = [:]
    var knownDirectories: Set<String> = []
    /// Those whose sync failed: what was written to them may be on disk or not, and no later sync
    /// tells.
    var suspects: Set<SegmentID> = []
    /// Former suspects: what counts in them was written anew, or does not count.
    var givenUp: Set<SegmentID> = []
    /// What lies in the place of segments and is no file, by path.
    var misplaced: [String: Errno] = [:]
    /// A directory could not be synced: which segments exist is uncertain from then on.
    var lostDirectory: StoreError?
  }
  private let state = Mutex(State())
  /// Held while files of one kind are synced, outside `state`: a caller that finds nothing left to sync
  /// must not go on while another still syncs it. One lock a kind, so that a barrier does not wait while
  /// a slow disk takes a checkpoint.
  private final class SyncLock: Sendable { let mutex = Mutex(()) }
  private let syncing = Dictionary(
    uniqueKeysWithValues: SegmentKind.allCases.map { ($0, SyncLock()) })
  /// Which of the reserved segments exist; nil: nobody has looked. Held while they are made.
  let reserve = Mutex<Set<SegmentNumber>?>(nil)

  init(
    directory: any StorageDirectory, keys: SpaceKeys, segmentSize: Int, readsAround: Bool = false,
    clock: StoreClock = StoreClock()
  ) {
    self.directory = directory
    self.keys = keys
    self.segmentSize = segmentSize
    self.readsAround = readsAround
    self.clock = clock
    images = ScratchPool(byteCount: segmentSize, kept: 3)
  }

  /// The name of a segment. One whose birth nobody knows has a name that no file has.
  func name(_ id: SegmentID) -> SegmentName {
    state.withLock { $0.names[id]?.name } ?? name(id, .none)
  }

  func name(_ id: SegmentID, _ birth: SegmentBirth) -> SegmentName {
    keys.name(of: id.kind, number: id.number, birth: birth)
  }

  func path(_ id: SegmentID) -> String { SegmentPath.path(of: name(id)) }

  /// The birth of a segment, as far as it is known.
  func birth(_ id: SegmentID) -> SegmentBirth? {
    state.withLock { $0.names[id]?.birth }
  }

  /// From now on the segment of this number is the one of this birth, whatever others there are.
  func use(_ id: SegmentID, _ birth: SegmentBirth) {
    if self.birth(id) == birth { return }
    let name = name(id, birth)
    state.withLock { state in
      state.names[id] = (birth, name)
      state.readable[id] = nil
    }
  }

  /// Gives a segment that is to be made its birth: that of this session.
  @discardableResult
  func bear(_ id: SegmentID) -> SegmentBirth {
    use(id, session)
    return session
  }

  /// Finds segments by the names that they have in the store, where nobody has said which is meant.
  func adoptNames(_ listing: SegmentListing) {
    state.withLock { state in
      for (id, found) in listing.own where state.names[id] == nil {
        state.names[id] = found[found.count - 1]
      }
    }
  }

  /// The file of a segment, for reading.
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

  /// Makes the file of a new segment.
  func create(_ id: SegmentID) throws(StoreError) -> any StorageFile {
    let name = name(id)
    let folder = SegmentPath.directory(of: name)
    let path = SegmentPath.path(of: name)
    do throws(Errno) {
      try makeFolder(folder)
      let file = try createFile(path, in: folder)
      RestingTimes.settle(folder, in: directory)
      created.wrappingAdd(1, ordering: .relaxed)
      state.withLock { _ = $0.unsyncedDirectories[id.kind, default: []].insert(folder) }
      return file
    } catch {
      throw StoreError(writing: path, error)
    }
  }

  private func createFile(_ path: String, in folder: String) throws(Errno) -> any StorageFile {
    do throws(Errno) { return try directory.open(path, .createNew) } catch {
      // Somebody took the folder away meanwhile.
      if error != .noEntry { throw error }
      state.withLock { _ = $0.knownDirectories.remove(folder) }
      try makeFolder(folder)
      return try directory.open(path, .createNew)
    }
  }

  private func makeFolder(_ folder: String) throws(Errno) {
    if state.withLock({ $0.knownDirectories.contains(folder) }) { return }
    do throws(Errno) { try directory.makeDirectory(folder) } catch {
      if error != .exists { throw error }
    }
    // One that exists may stem from a session that was killed before it was synced.
    state.withLock {
      $0.knownDirectories.insert(folder)
      for kind in SegmentKind.allCases {
        $0.unsyncedDirectories[kind, default: []].insert(SegmentPath.root)
      }
    }
  }

  /// Notes that a file was written and needs a sync.
  func noteWritten(_ id: SegmentID, _ file: any StorageFile) {
    state.withLock { $0.unsynced[id] = file }
  }

  /// The seal of a segment; nil where it has none, or is not there. One that is there says that the
  /// segment is whole, see `SegmentSeal`.
  func seal(of id: SegmentID) throws(StoreError) -> SegmentSeal? {
    let name = name(id)
    let cell = SegmentImage(byteCount: SegmentSeal.reservedByteCount)
    do throws(Errno) {
      let file = try directory.open(SegmentPath.path(of: name), .read)
      guard try unsafe file.read(into: cell.bytes, at: 0) == cell.byteCount else { return nil }
    } catch {
      if error == .noEntry || isMisplaced(id, error) { return nil }
      throw StoreError(reading: SegmentPath.path(of: name), error)
    }
    cell.used = cell.byteCount
    return SegmentSeal(in: cell, of: name, keys.cipher)
  }

  /// Whether the file of a segment is there.
  func exists(_ id: SegmentID) throws(StoreError) -> Bool {
    do throws(Errno) { _ = try directory.open(path(id), .read) } catch {
      if error == .noEntry || isMisplaced(id, error) { return false }
      throw StoreError(reading: path(id), error)
    }
    return true
  }

  /// Notes that nothing more is written to a segment. Once it is synced, and not before, it gets its
  /// seal.
  func noteEnded(_ id: SegmentID, _ ended: EndedSegment) {
    state.withLock { $0.ended[id] = ended }
  }

  /// Seals those of `candidates` that are synced. One that gets no seal is only believed less by a later
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

  /// Syncs what was written of these kinds, and all new directory entries; then proves that each of them
  /// is where a later mount looks for it. A file whose sync failed, or that somebody has put elsewhere,
  /// becomes a suspect: it is never synced again and believed, and while there is one nothing counts as
  /// synced.
  func sync(_ kinds: [SegmentKind]) throws(StoreError) {
    for kind in kinds {
      guard let lock = syncing[kind] else { continue }
      try lock.mutex.withLock { _ throws(StoreError) in
        // A seal proves what was written before its segment ended: all of that is synced first.
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

  /// Syncs what was written of one kind, and holds nobody up meanwhile: what is synced so is synced again
  /// by the next `sync`, which then finds little to do.
  func syncAhead(_ kind: SegmentKind) throws(StoreError) {
    for (id, file) in state.withLock({ $0.unsynced.filter { $0.key.kind == kind } }) {
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
      // Written to meanwhile, it is noted anew.
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
      do throws(StoreError) { try requireInPlace(id, file) } catch {
        failure = error
        suspect(id)
      }
    }
    if let failure { throw failure }
  }

  /// A segment counts as written when its path leads to the very file that was: somebody may have put
  /// another folder or a link in the place of its folder, and then a mount would not find it.
  func requireInPlace(_ id: SegmentID, _ file: any StorageFile) throws(StoreError) {
    let path = path(id)
    do throws(Errno) { if try directory.holds(file, at: path) { return } } catch {
      throw StoreError(syncing: path, error)
    }
    let folder = SegmentPath.directory(of: name(id))
    state.withLock { state in
      // The folder is made anew where it is gone; what lives in the file is read from what is open.
      state.knownDirectories.remove(folder)
      state.readable[id] = file
    }
    throw StoreError(
      .inputOutput,
      "\(path) in the store is not the file that was written there: it, or its folder, was replaced or "
        + "moved away", path: path)
  }

  private func syncDirectories(_ kind: SegmentKind) throws(StoreError) {
    let (folders, lost) = state.withLock { state in
      (state.unsyncedDirectories.removeValue(forKey: kind) ?? [], state.lostDirectory)
    }
    if let lost { throw lost }
    for folder in folders {
      do throws(Errno) { try directory.syncDirectory(folder) } catch {
        // Nothing of it is lost in the cache: what was written there is not in its place.
        if error == .noEntry || error.isMisplaced { continue }
        let failure = StoreError(syncing: folder, error)
        state.withLock { $0.lostDirectory = failure }
        throw failure
      }
    }
  }

  /// Returns when the name of a segment, or that it is gone, is on disk.
  func syncFolder(of id: SegmentID) throws(StoreError) {
    try syncFolder(SegmentPath.directory(of: name(id)))
  }

  /// Returns when it is on disk which of these are there.
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

  /// Segments of which a write or sync failed.
  var suspects: Set<SegmentID> { state.withLock { $0.suspects } }

  func suspect(_ id: SegmentID) { state.withLock { _ = $0.suspects.insert(id) } }

  /// Nothing that is in a suspect will count: it need not be synced any more.
  func giveUp(_ id: SegmentID) {
    state.withLock { state in
      state.suspects.remove(id)
      state.unsynced[id] = nil
      state.givenUp.insert(id)
    }
  }

  /// Whether it is uncertain which segments exist.
  var hasLostDirectory: Bool { state.withLock { $0.lostDirectory != nil } }

  /// Notes that the file of a segment was unlinked.
  func noteRemoved(_ id: SegmentID) {
    let folder = SegmentPath.directory(of: name(id))
    state.withLock {
      $0.readable[id] = nil
      $0.unsynced[id] = nil
      $0.ended[id] = nil
      $0.unsyncedDirectories[id.kind, default: []].insert(folder)
    }
  }

  /// The whole of a segment; `nil` where there is none. Short where the file is.
  func contents(_ id: SegmentID) throws(StoreError) -> SegmentImage? {
    let image = SegmentImage(byteCount: segmentSize)
    return try load(id, into: image) ? image : nil
  }

  /// Reads the whole of a segment into an image of its size; false where there is none.
  func load(_ id: SegmentID, into image: SegmentImage) throws(StoreError) -> Bool {
    let path = path(id)
    image.used = 0
    image.hasReadErrors = false
    do throws(Errno) {
      let file = try directory.open(path, .read)
      do throws(Errno) {
        image.used = try unsafe file.read(into: image.bytes, at: 0)
      } catch {
        if !readsAround { throw error }
        image.readAround(file)
      }
      return true
    } catch {
      if error == .noEntry { return false }
      // Whoever put it there took the segment: it is damaged, and nothing is left of it.
      if isMisplaced(id, error) { return true }
      throw StoreError(reading: path, error)
    }
  }

  /// True where something else than a file lies in the place of a segment; that is noted.
  private func isMisplaced(_ id: SegmentID, _ error: Errno) -> Bool {
    if !error.isMisplaced { return false }
    let path = path(id)
    state.withLock { $0.misplaced[path] = error }
    return true
  }

  /// Notes what lies in the place of a folder of segments.
  func noteMisplaced(_ path: String, _ error: Errno) {
    state.withLock { $0.misplaced[path] = error }
  }

  /// What was come across that lies in the place of a segment, or of a folder of segments, and is none.
  var misplaced: [StoreError] {
    state.withLock { $0.misplaced }.sorted { $0.key < $1.key }.map {
      StoreError(reading: $0.key, $0.value)
    }
  }
}
