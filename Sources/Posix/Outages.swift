package import AlbumModel

/// A time during which the file system below a store does not respond.
package struct Outage: Sendable, Equatable {
  /// When a call failed first.
  package var since: Timestamp
  /// The error of that call.
  package var cause: Errno
  fileprivate var begin = MonotonicTime.now
}

extension Errno {
  /// True for the errors of a file system whose network, or server, is away. Having connected anew, sshfs
  /// answers EIO through descriptors of before, and NFS answers ESTALE.
  package var mayBeOutage: Bool { Errno.ofOutages.contains(self) }
}

/// The outages of one store, and those who wait for their end. Any thread.
///
/// A call that fails as in an outage asks here whether the store responds (`wait`). One thread at a time
/// looks for it.
package final class Outages: Sendable {
  /// How long content that somebody reads is waited for, from the begin of the outage on.
  package static let patience = TestHooks.delay(.outage, .seconds(60))
  /// A call that takes longer goes to a store that does not respond, or is slower than any.
  package static let silence = TestHooks.delay(.silence, .seconds(10))
  /// The time between two looks for the store.
  private static let pause = Duration.milliseconds(250)

  private struct State {
    var current: Outage?
    /// The calls that have not returned, by their threads: when each began.
    var calls: [UInt: Outage] = [:]
    var count = 0
    var isLooking = false
    var nextLook = MonotonicTime.now
    /// Threads that wait no longer than `patience`.
    var hurried: Set<UInt> = []
    /// When all waiting ends, because the session ends.
    var end: MonotonicTime?
  }
  private let state = Monitor(State(), rank: .outage)
  /// Receives an outage as it begins, and nil as it ends.
  private let tell: @Sendable (Outage?) -> Void

  package init(_ tell: @escaping @Sendable (Outage?) -> Void) { self.tell = tell }

  /// nil: the store responded when it was last used. A server that is silent ends no call, so that a call
  /// which takes long counts, too.
  package var current: Outage? {
    state.withLock { state in
      if let current = state.current { return current }
      let oldest = state.calls.values.min { $0.begin < $1.begin }
      return oldest.flatMap { MonotonicTime.now - $0.begin >= Outages.silence ? $0 : nil }
    }
  }

  /// Runs one call to the store, with no lock held that is for short times only (`LockRank`). Not nested.
  package func calling<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    let thread = PosixThread.current
    let call = Outage(since: SystemClock.wall(), cause: .timedOut)
    state.withLock { $0.calls[thread] = call }
    defer { state.withLock { $0.calls[thread] = nil } }
    return try LockRank.catalog.holding(body)
  }

  /// The number of outages so far.
  package var count: Int { state.withLock { $0.count } }

  /// True if the store does not respond and is not waited for any more, because the session ends.
  package var isGivenUp: Bool {
    state.withLock { state in
      guard let end = state.end, state.current != nil else { return false }
      return MonotonicTime.now >= end
    }
  }

  /// Runs `body`, whose calls wait no longer than `patience`. Not nested.
  package func hurriedly<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let thread = PosixThread.current
    state.withLock { _ = $0.hurried.insert(thread) }
    defer { state.withLock { _ = $0.hurried.remove(thread) } }
    return try body()
  }

  /// Lets no call wait for longer than `patience` from now on.
  package func endPatience() {
    state.withLock { $0.end = $0.end ?? .now + Outages.patience }
    state.notifyAll()
  }

  private enum Step { case look, isBack, giveUp }

  /// Returns when the store responds: at once if it does, and true if it did not before. Throws `error` if
  /// the caller waits no longer. `responds` looks for the store, and may block.
  package func wait(after error: Errno, responds: () -> Bool) throws(Errno) -> Bool {
    let thread = PosixThread.current
    var wasAway = false
    while true {
      let step = state.waiting(until: .now + Outages.pause) { state -> Step? in
        guard let outage = state.current else {
          if wasAway { return .isBack }
          return state.isLooking ? nil : .look
        }
        wasAway = true
        if !state.isLooking, MonotonicTime.now >= state.nextLook { return .look }
        var limit = state.end
        if state.hurried.contains(thread) {
          limit = min(limit ?? .distantFuture, outage.begin + Outages.patience)
        }
        return limit.map { MonotonicTime.now >= $0 } ?? false ? .giveUp : nil
      }
      switch step {
      case nil: continue
      case .isBack: return true
      case .giveUp: throw error
      case .look: if look(after: error, responds) { return wasAway }
      }
    }
  }

  /// Another thread may have begun to look meanwhile; then both do.
  private func look(after error: Errno, _ responds: () -> Bool) -> Bool {
    state.withLock { $0.isLooking = true }
    let isThere = responds()
    let (begun, hasEnded) = state.withLock { state -> (Outage?, Bool) in
      state.isLooking = false
      state.nextLook = .now + Outages.pause
      if isThere {
        defer { state.current = nil }
        return (nil, state.current != nil)
      }
      if state.current != nil { return (nil, false) }
      let outage = Outage(since: SystemClock.wall(), cause: error)
      state.current = outage
      state.count += 1
      return (outage, false)
    }
    state.notifyAll()
    if let begun { tell(begun) }
    if hasEnded { tell(nil) }
    return isThere
  }
}
