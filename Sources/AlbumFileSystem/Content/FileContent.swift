import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

// The content of one open file, in four layers. What a later layer has wins:
//
//     catalog   extents that a frame states
//     pending   extents that are sealed and wait for the next frame
//     in flight chunks on their way into a segment, in the order in which they were handed over
//     dirty     bytes that nobody has sealed yet
//
// Bytes go from the bottom of this list to its top: `write` puts them into dirty chunks; a chunk
// that is full is handed over and sealed by the thread that filled it, with no lock held; what is
// sealed is taken from the front of the flight in order, so that a later write always wins; `commit`
// states what is pending in one step of history. Who writes very many small pieces commits between them,
// so that a step of history is of a bounded number. Invariants:
//
// 1. What is read is the file as of some moment during the call, whatever layer its bytes are in.
// 2. A size is only stated together with all that was written below it.
// 3. A chunk that could not be sealed stays in memory and is tried again before anything is taken
//    over; it is given up only with the last handle.

/// The content of one inode, shared by all its handles. Any thread.
final class FileContent: Sendable {
  struct State {
    /// What stat says: of all layers.
    var size: Int64
    var dirty = DirtyChunks()
    var inFlight: [Handover] = []
    var nextTicket: UInt64 = 1
    var pending = ExtentMap()
    /// Whether there is something for the catalog.
    var isChanged = false
    /// When it became so, on the monotonic clock.
    var changedAt: Int64 = 0
    /// Rises when the size shrinks: a goal taken before does not hold any more.
    var epoch: UInt64 = 0
    /// Whether bytes that somebody handed over were refused or given up. The kernel may show them.
    var hasLost = false

    var isClean: Bool { !isChanged && dirty.isEmpty && inFlight.isEmpty && pending.isEmpty }
  }

  let inode: InodeNumber
  let index: InodeIndex
  /// Whether the file had content before it was opened.
  let hadContent: Bool
  let space: Space
  private let pool: ChunkPool
  private let clock: FileSystemClock
  /// Lock order: a shard of the content table, then this, then the catalog. Never held while
  /// sealing or reading records.
  let monitor: Monitor<State>

  /// The caller keeps a reference to the inode.
  init(
    _ inode: InodeNumber, index: InodeIndex, size: Int64, space: Space, pool: ChunkPool,
    clock: FileSystemClock
  ) {
    self.inode = inode
    self.index = index
    self.space = space
    self.pool = pool
    self.clock = clock
    hadContent = size > 0
    monitor = Monitor(State(size: size))
  }

  /// Size, and the bytes that are not in the catalog yet.
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

  /// Takes the bytes over. Full chunks are sealed by the calling thread; others may seal theirs at
  /// the same time.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FSError) {
    if offset < 0 { throw FSError(.invalid) }
    if Int64(bytes.count) > Int64.max - offset { throw FSError(.tooBig) }
    try retryFailed()
    if pool.isOverfull { waitForOthers() }
    var done = 0
    while done < bytes.count {
      let place = ChunkRange(first: bytes.count - done, at: offset + Int64(done))
      let part = unsafe UnsafeRawBufferPointer(
        rebasing: bytes[done..<done + place.bytes.count])
      let leaving = monitor.withLock { state in
        let chunks = unsafe state.dirty.put(part, at: place, from: pool)
        state.size = max(state.size, place.offset + Int64(part.count))
        noteChanged(&state)
        return handOver(chunks, &state)
      }
      try seal(leaving)
      done += part.count
    }
    if pool.isCrowded { try seal(handOverAll()) }
    if isScattered {
      try commit()
      try frameIfCrowded()
    }
  }

  /// Whether more pieces wait for the catalog than one hold of its lock may place.
  private var isScattered: Bool {
    monitor.withLock { $0.pending.extents.count >= Catalog.extentsPerSlice }
  }

  /// Called without a lock by who changes content, since the keeper may be busy and the next frame
  /// states all that was changed until it is appended.
  func frameIfCrowded() throws(FSError) {
    do throws(StoreError) { try space.commitIfCrowded() } catch { throw FSError(error) }
  }

  /// Returns when no other thread is sealing the first chunk of the flight, or memory is not short.
  private func waitForOthers() {
    monitor.waiting { state -> Void? in
      guard let first = state.inFlight.first, case .sealing = first.outcome, pool.isOverfull else {
        return ()
      }
      return nil
    }
  }

  private func noteChanged(_ state: inout State) {
    if state.isChanged { return }
    state.isChanged = true
    state.changedAt = clock.monotonic()
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

  /// Seals all of them, and throws the first error after that.
  private func seal(_ handovers: [Handover]) throws(FSError) {
    var failure: FSError?
    for handover in handovers {
      do throws(FSError) { try seal(handover) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  private func seal(_ handover: Handover) throws(FSError) {
    do throws(StoreError) {
      let extents = try unsafe space.appendPieces(
        handover.chunk.content, of: inode, at: handover.chunk.offset,
        fileLength: handover.fileLength)
      monitor.withLock { state in
        handover.outcome = .sealed(extents)
        landFinished(&state)
      }
      monitor.notifyAll()
    } catch {
      monitor.withLock { _ in handover.outcome = .failed(error) }
      monitor.notifyAll()
      throw FSError(error)
    }
  }

  /// Takes what is sealed from the front of the flight, in order.
  private func landFinished(_ state: inout State) {
    var dropped: [Extent] = []
    var landed = 0
    while landed < state.inFlight.count,
      case .sealed(let extents) = state.inFlight[landed].outcome
    {
      for extent in extents {
        dropped += state.pending.replace(from: extent.offset, to: extent.end, with: [extent])
      }
      landed += 1
    }
    state.inFlight.removeFirst(landed)
    letGo(dropped)
  }

  private func letGo(_ extents: [Extent]) {
    if extents.isEmpty { return }
    space.change { catalog in
      for extent in extents { catalog.letGo(extent) }
    }
  }

  /// Nothing new is taken over while something older could not be stored.
  private func retryFailed() throws(FSError) {
    let failed = monitor.withLock { state in takeFailed(&state) }
    if let failed { try seal(failed) }
  }

  private func takeFailed(_ state: inout State, below ticket: UInt64 = .max) -> Handover? {
    for handover in state.inFlight where handover.ticket < ticket {
      if case .failed = handover.outcome {
        handover.outcome = .sealing
        return handover
      }
    }
    return nil
  }

  // MARK: Commit

  private struct Goal {
    let handovers: [Handover]
    let ticket: UInt64
    let size: Int64
    let epoch: UInt64
  }

  /// All that was written before the call is in the catalog when this returns, in one step of
  /// history. It survives the end of the process after `Space.commit`.
  func commit() throws(FSError) {
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

  /// Waits until all that was handed over before `ticket` has landed; what failed is tried again.
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

  /// Runs `body` at a moment when nothing is pending, in no layer but the catalog.
  func whenClean<Result>(
    _ body: (inout State) throws(FSError) -> Result
  ) throws(FSError) -> Result {
    while true {
      try commit()
      let result = try monitor.withLock { (state) throws(FSError) -> Result? in
        state.isClean ? try body(&state) : nil
      }
      if let result { return result }
    }
  }

  /// States what is pending below `limit`.
  private func publish(_ state: inout State, upTo limit: Int64) {
    if !state.isChanged { return }
    let isAll = limit >= state.size && state.dirty.isEmpty && state.inFlight.isEmpty
    let ready =
      limit >= state.size
      ? state.pending.extents
      : state.pending.overlapping(from: 0, to: limit)
    if limit >= state.size {
      state.pending = ExtentMap()
    } else {
      state.pending.replace(from: 0, to: limit, with: [])
    }
    let size = min(limit, state.size)
    space.change { catalog in
      catalog.placeExtents(ready, of: index)
      PhotoRules.contentChanged(index, size: size, hadContent: hadContent, &catalog)
    }
    state.isChanged = !isAll
    state.changedAt = clock.monotonic()
  }

  /// Whether something has waited for the catalog since `time` or longer.
  func isPending(since time: Int64) -> Bool {
    monitor.withLock { $0.isChanged && $0.changedAt <= time }
  }

  /// Whether nothing is left to do for the last handle.
  var isFinished: Bool { monitor.withLock { $0.isClean && !$0.hasLost } }

  /// Bytes were not taken over.
  func noteLoss() { monitor.withLock { $0.hasLost = true } }

  /// Whether something was lost since this was asked last.
  func takeLoss() -> Bool {
    monitor.withLock { state in
      defer { state.hasLost = false }
      return state.hasLost
    }
  }

  /// Gives up what could not be stored. The file then ends before it where it would have grown by it.
  /// Answers whether there was any.
  func abandonFailed() -> Bool {
    monitor.withLock { state in
      var isAny = false
      let stated = space.read { catalog in catalog.state(index).size }
      for handover in state.inFlight {
        guard case .failed = handover.outcome else { continue }
        isAny = true
        if handover.chunk.end > stated {
          state.size = min(state.size, max(stated, handover.chunk.offset))
        }
      }
      state.inFlight.removeAll { if case .failed = $0.outcome { true } else { false } }
      landFinished(&state)
      letGo(state.pending.replace(from: state.size, to: .max, with: []))
      if isAny { state.hasLost = true }
      return isAny
    }
  }

  // MARK: Size

  /// Makes the file `size` bytes long. `also` goes into the same step of history.
  func truncate(
    to size: Int64, also: (inout Catalog) -> Void
  ) throws(FSError) {
    try whenClean { (state) throws(FSError) in
      if size < state.size { state.epoch += 1 }
      let former = state.size
      state.size = size
      space.change { catalog in
        if size < former { catalog.replaceExtents(of: index, from: size, to: .max, with: []) }
        if size != former {
          PhotoRules.contentChanged(index, size: size, hadContent: hadContent, &catalog)
        }
        also(&catalog)
      }
    }
    try frameIfCrowded()
  }

  /// Changes the extents of a quiet file, and its size, in one step of history.
  func change(_ body: (inout Catalog, _ size: Int64) throws(FSError) -> Int64) throws(FSError) {
    try whenClean { (state) throws(FSError) in
      let former = state.size
      let index = index
      let hadContent = hadContent
      state.size = try space.change { (catalog: inout Catalog) throws(FSError) -> Int64 in
        let size = try body(&catalog, former)
        PhotoRules.contentChanged(index, size: size, hadContent: hadContent, &catalog)
        return size
      }
    }
    try frameIfCrowded()
  }
}

/// A chunk on its way from memory into a segment. Its memory stays readable until its extent is in
/// `FileContent`'s pending ones; sealing does not change it.
final class Handover: @unchecked Sendable {  // `outcome` is only touched under the content's lock
  enum Outcome {
    case sealing
    case sealed([Extent])
    /// Kept, and tried again before anything else is taken over.
    case failed(StoreError)
  }

  let chunk: ChunkBuffer
  /// The file's length when the chunk was handed over, for the record.
  let fileLength: Int64
  /// Rises in the order in which chunks of a file were handed over.
  let ticket: UInt64
  var outcome = Outcome.sealing

  init(_ chunk: ChunkBuffer, fileLength: Int64, ticket: UInt64) {
    self.chunk = chunk
    self.fileLength = fileLength
    self.ticket = ticket
  }
}
