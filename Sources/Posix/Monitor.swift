internal import Glibc

/// A value guarded by a lock, on which threads can wait for a change, which `Mutex` cannot do. Any thread.
/// The rank limits which other locks a thread may hold when it takes this one: see `LockRank`.
///
/// @unchecked because `state` is only touched under `mutex`.
@safe package final class Monitor<State: ~Copyable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var state: State
  #if DEBUG
  private let rank: LockRank
  #endif

  package init(_ state: consuming State, rank: LockRank) {
    #if DEBUG
    self.rank = rank
    #endif
    self.state = state
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(condition, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  private func lock() {
    #if DEBUG
    rank.take()
    #endif
    unsafe takeLock(mutex)
  }

  private func unlock() {
    unsafe pthread_mutex_unlock(mutex)
    #if DEBUG
    rank.release()
    #endif
  }

  package func withLock<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body(&state)
  }

  /// See `Mutex.withLockIfFree`.
  package func withLockIfFree<Result>(_ body: (inout State) -> Result) -> Result? {
    if unsafe pthread_mutex_trylock(mutex) != 0 { return nil }
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body(&state)
  }

  /// See `Mutex.held`.
  package func held(as name: String) -> HeldLock? { unsafe HeldLock(name, mutex) }

  /// Runs `body` under the lock, again after each `notifyAll`, until it returns a value.
  package func waiting<Result, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result?
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    while true {
      if let result = try body(&state) { return result }
      unsafe pthread_cond_wait(condition, mutex)
    }
  }

  /// The same until a deadline; nil when that has come.
  package func waiting<Result>(until deadline: MonotonicTime, _ body: (inout State) -> Result?)
    -> Result?
  {
    lock()
    defer { unlock() }
    var time = timespec()
    time.tv_sec = Int(deadline.nanoseconds / 1_000_000_000)
    time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
    while true {
      if let result = body(&state) { return result }
      if unsafe pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return body(&state) }
    }
  }

  /// Makes waiting threads check again. Call it after each change that a thread may wait for.
  package func notifyAll() { unsafe pthread_cond_broadcast(condition) }

  /// The same for one of the waiting threads, where all wait for the same and one can do all the work.
  package func notifyOne() { unsafe pthread_cond_signal(condition) }
}
