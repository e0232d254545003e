import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

// The content of one open file, in four layers. Bytes of a later layer hide those of an earlier one:
//
//     catalog   extents that a frame records
//     pending   sealed extents that wait for the next frame
//     in flight chunks on their way into a segment, in the order in which they were handed over
//     dirty     bytes that are not sealed yet
//
// Bytes go from the bottom of this list to its top. `write` puts them into dirty chunks. The thread that
// fills a chunk hands it over and seals it, with no lock held. Sealed chunks leave the flight in order, so
// that a later write always wins. `publish` puts all pending extents into the catalog in one step of history.
// A writer of very many small pieces publishes between them, so that the number of extents in a step is
// bounded. Invariants:
//
// 1. A read returns the file as of some moment during the call, whichever layer its bytes are in.
// 2. The catalog gets a size only together with everything that was written below it.
// 3. A chunk that could not be sealed stays in memory, and is sealed again before the file takes new bytes.
//    It is discarded only with the last handle.

/// The content of one inode, shared by all its handles. Any thread.
final class FileContent: Sendable {
  struct State: ~Copyable {
    /// The size that stat(2) returns, from all layers.
    var size: Int64
    /// The size in the catalog, which nothing else changes while the file is open.
    var stated: Int64
    var dirty = DirtyChunks()
    var inFlight: [Handover] = []
    var nextTicket: UInt64 = 1
    var pending: PendingExtents
    /// True if there are changes for the catalog.
    var isChanged = false
    /// When `isChanged` became true.
    var changedAt = MonotonicTime(nanoseconds: 0)
    /// Rises when the size shrinks, which invalidates the goal of a `publish` that is under way.
    var epoch: UInt64 = 0
    /// True if bytes were refused or discarded. The kernel's pages may still show them.
    var hasLost = false
    /// The size and times before the first change since the first handle was opened, since the last change
    /// that lost content, or since the file lost its last name. The kernel may send a new size or time before
    /// the bytes. nil for an empty file.
    var former: FormerState?
    /// True if `former` is recorded.
    var isFormerKnown = false
    /// True if the file had no name at its last change.
    var wasDeleted = false
    /// True if a program wrote other bytes over the last page that the file had in `former`.
    var changesEnd = false
    /// True if a former version was kept since the first handle was opened.
    var hasVersion = false
    /// True if one was kept since the file lost its last name.
    var hasVersionOfDeleted = false

    init(size: Int64, space: Space) {
      self.size = size
      stated = size
      pending = PendingExtents(in: space)
    }

    var isClean: Bool { !isChanged && dirty.isEmpty && inFlight.isEmpty && pending.isEmpty }
  }

  let inode: InodeNumber
  let index: InodeIndex
  /// True if the file had content before it was opened.
  let hadContent: Bool
  let space: Space
  /// The changes of the inode that come by no write.
  let owed = OwedCommit()
  private let pool: ChunkPool
  private let help: SealingHelp
  let clock: FileSystemClock
  let pace: VersionPace
  let ahead = Mutex(ReadAhead(), rank: .leaf)
  /// Never held while sealing or reading records.
  let monitor: Monitor<State>

  /// The caller keeps a reference to the inode.
  init(
    _ inode: InodeNumber, index: InodeIndex, size: Int64, space: Space, pool: ChunkPool,
    help: SealingHelp, clock: FileSystemClock, pace: VersionPace
  ) {
    self.inode = inode
    self.pace = pace
    self.index = index
    self.space = space
    self.pool = pool
    self.help = help
    self.clock = clock
    hadContent = size > 0
    monitor = Monitor(State(size: size, space: space), rank: .content)
  }

  /// The size, and the number of bytes that are not in the catalog yet.
  var measure: (size: Int64, unstated: Int64) {
    monitor.withLock { state in
      var sum: Int64 = 0
      for extent in state.pending.extents { sum += extent.length }
      for handover in state.inFlight { sum += Int64(handover.chunk.range.count) }
      for chunk in state.dirty.chunks { sum += Int64(chunk.range.count) }
      return (state.size, sum)
    }
  }

  // MARK: Write

  /// Takes the bytes. The calling thread seals full chunks, those of a large write with `SealingHelp`; other
  /// threads may seal theirs at the same time.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FSError) {
    if offset < 0 { throw FSError(.invalid) }
    if Int64(bytes.count) > Int64.max - offset { throw FSError(.tooBig) }
    try retryFailed()
    if pool.isOverfull { waitForOthers() }
    unsafe compareEnd(with: bytes, at: offset)
    var done = 0
    var leaving: [Handover] = []
    while done < bytes.count {
      let place = ChunkRange(first: bytes.count - done, at: offset + Int64(done))
      let part = unsafe UnsafeRawBufferPointer(
        rebasing: bytes[done..<done + place.bytes.count])
      leaving += monitor.withLock { state in
        let chunks = unsafe state.dirty.put(part, at: place, from: pool)
        state.size = max(state.size, place.offset + Int64(part.count))
        markChanged(&state)
        return handOver(chunks, &state)
      }
      done += part.count
      if leaving.count >= SealingHelp.mostChunks {
        try seal(leaving)
        leaving = []
      }
    }
    try seal(leaving)
    if pool.isCrowded { try seal(handOverAll()) }
    if isScattered {
      try publish()
      try frameIfCrowded()
    }
  }

  /// True if more pieces wait for the catalog than one hold of its lock may place.
  private var isScattered: Bool {
    monitor.withLock { $0.pending.extents.count >= Catalog.extentsPerSlice }
  }

  /// Appends a frame if very many changes wait for the next one, which the keeper may be too busy to write.
  /// Callers that change content call it without a lock.
  func frameIfCrowded() throws(FSError) {
    do throws(StoreError) { try space.commitIfCrowded() } catch { throw FSError(error) }
  }

  /// Returns when no other thread is sealing the first chunk of the flight, or memory is not short.
  private func waitForOthers() {
    monitor.waiting { state -> Void? in
      guard let first = state.inFlight.first, first.outcome == .sealing, pool.isOverfull else {
        return ()
      }
      return nil
    }
  }

  private func markChanged(_ state: inout State) {
    if state.isChanged { return }
    state.isChanged = true
    state.changedAt = clock.monotonic()
    recordFormer(&state)
    space.stir()
  }

  private func handOver(_ chunks: [ChunkBuffer], _ state: inout State) -> [Handover] {
    chunks.map { chunk in
      defer { state.nextTicket += 1 }
      let handover = Handover(chunk, fileLength: state.size, ticket: state.nextTicket)
      state.inFlight.append(handover)
      return handover
    }
  }

  private func handOverAll() -> [Handover] {
    monitor.withLock { state in handOver(state.dirty.takeAll(), &state) }
  }

  /// Seals all chunks, and throws the first error at the end.
  private func seal(_ handovers: [Handover]) throws(FSError) {
    var failure: FSError?
    var rest = handovers[...]
    while let next = rest.first {
      let isLarge = rest.count >= SealingHelp.leastChunks && failure == nil
      let together = isLarge ? reserve(rest) : 0
      if together > 0 {
        help.seal(Array(rest.prefix(together)), of: self) { sealInPlace($0) }
        rest = rest.dropFirst(together)
        continue
      }
      // Its beginning may fill the segment.
      do throws(FSError) { try seal(next) } catch { failure = failure ?? error }
      rest = rest.dropFirst()
    }
    if let failure { throw failure }
  }

  /// Reserves places for the first of these chunks, which threads then seal in any order: the records of a
  /// file follow one another. Returns for how many there is room; 0 also if that is not known.
  private func reserve(_ handovers: ArraySlice<Handover>) -> Int {
    guard let places = try? space.reserve(handovers.map(\.chunk.range.count)) else { return 0 }
    monitor.withLock { _ in
      for (handover, place) in zip(handovers, places) { handover.place = place }
    }
    return places.count
  }

  private func sealInPlace(_ handover: Handover) {
    guard let place = monitor.withLock({ _ in handover.place.take() }) else { return }
    let held = unsafe space.append(
      handover.chunk.content, of: inode, at: handover.chunk.offset,
      fileLength: handover.fileLength, place: place)
    land(held, of: handover)
    monitor.notifyAll()
  }

  /// On a helper's thread.
  func seal(helping handover: Handover) { sealInPlace(handover) }

  private func seal(_ handover: Handover) throws(FSError) {
    do throws(StoreError) {
      let held = try unsafe space.appendPieces(
        handover.chunk.content, of: inode, at: handover.chunk.offset,
        fileLength: handover.fileLength)
      land(held, of: handover)
      monitor.notifyAll()
    } catch {
      monitor.withLock { _ in handover.outcome = .failed }
      monitor.notifyAll()
      throw FSError(error)
    }
  }

  private func land(_ held: consuming HeldExtents, of handover: Handover) {
    var held: HeldExtents? = held
    monitor.withLock { state in
      handover.outcome = .sealed
      handover.held = held.take()
      landFinished(&state)
    }
  }

  /// Moves sealed chunks from the front of the flight to the pending extents, in order.
  private func landFinished(_ state: inout State) {
    var landed = 0
    while landed < state.inFlight.count, let held = state.inFlight[landed].held.take() {
      state.pending.put(held)
      landed += 1
    }
    state.inFlight.removeFirst(landed)
  }

  /// Seals failed chunks again. Throws if that fails, so that the file takes no new bytes.
  private func retryFailed() throws(FSError) {
    let failed = monitor.withLock { state in takeFailed(&state) }
    if let failed { try seal(failed) }
  }

  private func takeFailed(_ state: inout State, below ticket: UInt64 = .max) -> Handover? {
    for handover in state.inFlight where handover.ticket < ticket {
      if handover.outcome == .failed {
        handover.outcome = .sealing
        return handover
      }
    }
    return nil
  }

  // MARK: Publishing

  private struct Goal {
    let handovers: [Handover]
    let ticket: UInt64
    let size: Int64
    let epoch: UInt64
  }

  /// Puts everything that was written before the call into the catalog, in one step of history. After
  /// `Space.commit` it survives the end of the process.
  func publish() throws(FSError) {
    while true {
      let goal = monitor.withLock { state -> Goal? in
        if state.isClean { return nil }
        let handovers = handOver(state.dirty.takeAll(), &state)
        return Goal(
          handovers: handovers, ticket: state.nextTicket, size: state.size, epoch: state.epoch)
      }
      guard let goal else { return }
      try seal(goal.handovers)
      try land(below: goal.ticket)
      let isStated = monitor.withLock { state in
        if state.epoch != goal.epoch { return false }
        publish(&state, upTo: goal.size)
        return true
      }
      if isStated { return }
    }
  }

  /// Waits until every chunk with a ticket below this one is sealed and pending. Seals failed ones again.
  private func land(below ticket: UInt64) throws(FSError) {
    while true {
      let failed = monitor.waiting { state -> Handover?? in
        if let failed = takeFailed(&state, below: ticket) { return .some(failed) }
        guard let first = state.inFlight.first, first.ticket < ticket else { return .some(nil) }
        return nil
      }
      guard let failed else { return }
      try seal(failed)
    }
  }

  /// Runs `body` at a moment when all content is in the catalog.
  func whenClean<Result>(
    _ body: (inout State) throws(FSError) -> Result
  ) throws(FSError) -> Result {
    while true {
      try publish()
      let result = try monitor.withLock { (state) throws(FSError) -> Result? in
        state.isClean ? try body(&state) : nil
      }
      if let result { return result }
    }
  }

  /// Puts pending extents below `limit` into the catalog.
  private func publish(_ state: inout State, upTo limit: Int64) {
    if !state.isChanged { return }
    let isAll = limit >= state.size && state.dirty.isEmpty && state.inFlight.isEmpty
    let ready = state.pending.take(below: limit >= state.size ? .max : limit)
    let size = min(limit, state.size)
    let first = ready.first?.offset ?? .max
    let moment = space.removalMoment(clock.now())
    space.change { catalog in
      keepVersion(from: first, size: size, at: moment, &state, &catalog)
      catalog.placeExtents(ready, of: index)
      PhotoRules.contentChanged(index, size: size, hadContent: hadContent, &catalog)
    }
    state.stated = size
    state.isChanged = !isAll
    state.changedAt = clock.monotonic()
  }

  /// True if a change has waited for the catalog since `time` or longer.
  func isPending(since time: MonotonicTime) -> Bool {
    monitor.withLock { $0.isChanged && $0.changedAt <= time }
  }

  /// True if nothing is left to do for the last handle.
  var isFinished: Bool { monitor.withLock { $0.isClean && !$0.hasLost } }

  /// Records that bytes were refused.
  func recordLoss() { monitor.withLock { $0.hasLost = true } }

  /// Returns true if bytes were lost since the last call.
  func takeLoss() -> Bool {
    monitor.withLock { state in
      defer { state.hasLost = false }
      return state.hasLost
    }
  }

  /// Discards bytes that could not be stored. If they would have extended the file, the file ends before
  /// them. Returns true if there were any.
  func abandonFailed() -> Bool {
    monitor.withLock { state in
      var isAny = false
      let stated = space.read { catalog in catalog.state(index).size }
      for handover in state.inFlight {
        if handover.outcome != .failed { continue }
        isAny = true
        if handover.chunk.end > stated {
          state.size = min(state.size, max(stated, handover.chunk.offset))
        }
      }
      state.inFlight.removeAll { $0.outcome == .failed }
      landFinished(&state)
      state.pending.cut(at: state.size)
      if isAny { state.hasLost = true }
      return isAny
    }
  }

  // MARK: Size

  /// Makes the file `size` bytes long. The changes of `also` go into the same step of history.
  func truncate(
    to size: Int64, also: (inout Catalog) -> Void
  ) throws(FSError) {
    try whenClean { (state) throws(FSError) in
      recordFormer(&state)
      if size < state.size { state.epoch += 1 }
      let former = state.size
      state.size = size
      let moment = space.removalMoment(clock.now())
      space.change { catalog in
        keepVersion(from: size, size: size, at: moment, &state, &catalog)
        if size < former { catalog.replaceExtents(of: index, from: size, to: .max, with: []) }
        if size != former {
          PhotoRules.contentChanged(index, size: size, hadContent: hadContent, &catalog)
        }
        also(&catalog)
      }
      state.stated = size
    }
    try frameIfCrowded()
  }

  /// Changes the extents of a quiet file from `first` on, and its size, in one step of history.
  func change(
    from first: Int64, _ body: (inout Catalog, _ size: Int64) throws(FSError) -> Int64
  ) throws(FSError) {
    try whenClean { (state) throws(FSError) in
      recordFormer(&state)
      let former = state.size
      let moment = space.removalMoment(clock.now())
      state.size = try space.change { (catalog: inout Catalog) throws(FSError) -> Int64 in
        keepVersion(from: first, size: former, at: moment, &state, &catalog)
        let size = try body(&catalog, former)
        PhotoRules.contentChanged(index, size: size, hadContent: hadContent, &catalog)
        return size
      }
      state.stated = state.size
    }
    try frameIfCrowded()
  }
}

/// A chunk on its way from memory into a segment. Its memory stays readable until its extent is pending;
/// sealing does not change it.
final class Handover: @unchecked Sendable {  // variables are only touched under the content's lock
  enum Outcome {
    case sealing
    case sealed
    /// The chunk stays, and is sealed again before the file takes new bytes.
    case failed
  }

  let chunk: ChunkBuffer
  /// The file's length when the chunk was handed over. The record stores it.
  let fileLength: Int64
  /// Rises in the order in which chunks of a file were handed over.
  let ticket: UInt64
  var outcome = Outcome.sealing
  /// Its reserved place, until a thread seals it there.
  var place: RecordPlace?
  /// The sealed content, until the catalog takes it.
  var held: HeldExtents?

  init(_ chunk: ChunkBuffer, fileLength: Int64, ticket: UInt64) {
    self.chunk = chunk
    self.fileLength = fileLength
    self.ticket = ticket
  }
}
