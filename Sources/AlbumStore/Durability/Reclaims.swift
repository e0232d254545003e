import AlbumModel
import Logging
import Posix

/// Callers that wait for room on a full disk. No caller gets an error while something can be reclaimed. It
/// waits until unneeded segments have lost their grace and garbage was compacted, and then tries again. A
/// waiting caller holds none of a space's locks.
final class Reclaims: SpacePart, Sendable {
  /// How long a caller waits for room at most.
  private static let patience = Duration.seconds(60)

  private struct State {
    /// The number of requested reclaims, and the last one that is finished.
    var wanted: UInt64 = 0
    var done: UInt64 = 0
    /// True if the last one made room.
    var hasGained = false
    /// Threads that must not wait for room: they hold locks that a reclaim takes, or other threads wait for
    /// them.
    var impatient: Set<UInt> = []
    /// Above 0 while segments are written anew, or after the session has ended: no caller waits.
    var isHindered = 0
    /// The last reclaim that made no room: `SegmentLedger.released` and the time then.
    var inVain: (released: Int64, at: MonotonicTime)?
    /// Makes room; returns true if there is some.
    var reclaim: (@Sendable () throws(StoreError) -> Bool)?
  }
  private let state = Monitor(State(), rank: .leaf)
  let context: SpaceContext

  init(_ context: SpaceContext) { self.context = context }

  /// `reclaim` makes room, and returns true if there is some.
  func setReclaim(_ reclaim: @escaping @Sendable () throws(StoreError) -> Bool) {
    state.withLock { $0.reclaim = reclaim }
  }

  /// Runs `body`, and runs it again after a reclaim if it found no room. Throws the error of `body` if no
  /// room can be made.
  func whenThereIsRoom<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError)
    -> Result
  {
    var attempts = 0
    while attempts < 3 {
      do throws(StoreError) { return try body() } catch {
        if !error.isShortage { throw error }
        let sent = sentBytes
        if health.isReadOnly || !wait() {
          room.reportShortage(error)
          throw error
        }
        // What is sent makes room, as slowly as the network is.
        if sentBytes == sent { attempts += 1 }
      }
    }
    do throws(StoreError) { return try body() } catch {
      if error.isShortage { room.reportShortage(error) }
      throw error
    }
  }

  /// Waits until room was made; returns false if none can be.
  private func wait() -> Bool {
    guard mayReclaim else { return false }
    if !options.worksInBackground { return reclaim() }
    let ticket = state.withLock { state in
      state.wanted += 1
      return state.wanted
    }
    keeper.wake()
    let (deadline, sent) = (MonotonicTime.now + Reclaims.patience, sentBytes)
    while true {
      let look = min(deadline, .now + Reclaims.lookInterval)
      let hasGained = state.waiting(until: look) { state -> Bool? in
        if state.isHindered > 0 { return false }
        return state.done >= ticket ? state.hasGained : nil
      }
      if let hasGained { return hasGained }
      if sentBytes - sent >= Int64(files.segmentSize) { return true }
      if MonotonicTime.now >= deadline { return false }
    }
  }

  private static let lookInterval = Duration.seconds(1)

  /// The bytes that were sent to a store that lies elsewhere.
  private var sentBytes: Int64 { files.directory.relay?.condition.sentBytes ?? 0 }

  /// False if the last reclaim made no room and files have released little since.
  private var mayReclaim: Bool {
    let (inVain, isImpatient) = state.withLock { state in
      (state.inVain, state.isHindered > 0 || state.impatient.contains(PosixThread.current))
    }
    if isImpatient { return false }
    guard let inVain else { return true }
    if released - inVain.released >= Int64(files.segmentSize) / 4 { return true }
    return MonotonicTime.now - inVain.at > .seconds(2)
  }

  /// The number of reclaims that callers wait for. Does not wait; nil if a thread holds the lock.
  var waitingAtOnce: UInt64? { state.withLockIfFree { $0.wanted - $0.done } }

  private var released: Int64 { catalog.withLock { $0.segments.released } }

  /// Runs `body` while no caller waits for room.
  func hindering<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    state.withLock { $0.isHindered += 1 }
    state.notifyAll()
    defer { state.withLock { $0.isHindered -= 1 } }
    return try body()
  }

  /// Runs `body` without waiting for room on the calling thread, which may hold locks.
  func impatiently(_ body: () -> Void) {
    state.withLock { _ = $0.impatient.insert(PosixThread.current) }
    body()
    state.withLock { _ = $0.impatient.remove(PosixThread.current) }
  }

  /// Ends all waiting for room, because the session ends.
  func stop() {
    state.withLock { $0.isHindered += 1 }
    state.notifyAll()
  }

  /// Reclaims for waiting callers. Called on the housekeeping thread.
  func reclaimIfWanted() {
    let wanted = state.withLock { $0.wanted > $0.done ? $0.wanted : nil }
    guard let wanted else { return }
    let hasGained = reclaim()
    state.withLock { state in
      state.done = wanted
      state.hasGained = hasGained
    }
    state.notifyAll()
  }

  private func reclaim() -> Bool {
    var hasGained = false
    do {
      hasGained = try state.withLock { $0.reclaim }?() ?? false
    } catch {
      options.logger.notice("no room could be made: \(error)")
    }
    if hasGained { room.endShortage() }
    let released = released
    state.withLock {
      $0.inVain = hasGained ? nil : (released, MonotonicTime.now)
    }
    return hasGained
  }
}
