internal import CLinux
internal import Glibc

/// A value that only one thread at a time touches, while `withLock` runs. Not recursive. The rank limits
/// which other locks a thread may hold when it takes this one: see `LockRank`.
///
/// Replaces `Synchronization.Mutex`, which waits on a futex in a part of the standard library that is not
/// instrumented: ThreadSanitizer does not see it and would report every use as a race. It does see a pthread
/// mutex. This type can go when ThreadSanitizer supports the other.
@safe package struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  // @unchecked because the value is only touched while the lock is held.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  #if DEBUG
  private let rank: LockRank
  #endif

  package init(_ initial: consuming sending Value, rank: LockRank) {
    #if DEBUG
    self.rank = rank
    #endif
    unsafe mutex = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    unsafe value = .allocate(capacity: 1)
    unsafe value.initialize(to: initial)
  }

  deinit {
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if DEBUG
    rank.take()
    defer { rank.release() }
    #endif
    unsafe takeLock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try unsafe body(&value.pointee)
  }

  /// The same if no thread holds the lock; returns nil, without waiting, if one does. For a report on a
  /// process that may be stuck.
  package borrowing func withLockIfFree<Result>(_ body: (inout sending Value) -> sending Result)
    -> sending Result?
  {
    if unsafe pthread_mutex_trylock(mutex) != 0 { return nil }
    defer { unsafe pthread_mutex_unlock(mutex) }
    return unsafe body(&value.pointee)
  }

  /// Who holds the lock and who waits for it; nil if no thread holds it. Does not wait. `name` says in a few
  /// words what the lock guards.
  package func held(as name: String) -> HeldLock? { unsafe HeldLock(name, mutex) }
}

/// Takes the lock. A thread that has to wait is in the reports of `HeldLock` meanwhile.
func takeLock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
  if unsafe pthread_mutex_trylock(mutex) != 0 { unsafe clinux_wait_for_lock(mutex) }
}

/// A lock that a thread holds.
package struct HeldLock: Sendable {
  package let name: String
  /// The kernel's number of the thread.
  package let thread: Int32
  /// The threads that wait for the lock, as many as could be recorded.
  package let waiters: [Int32]

  /// For what is no mutex; nil if no thread holds it.
  package init?(_ name: String, thread: Int32?) {
    guard let thread else { return nil }
    self.name = name
    self.thread = thread
    waiters = []
  }

  init?(_ name: String, _ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
    thread = unsafe clinux_lock_holder(mutex)
    if thread == 0 { return nil }
    self.name = name
    waiters = (0..<clinux_lock_wait_count()).map { unsafe clinux_lock_waiter(mutex, $0) }
      .filter { $0 != 0 }
  }
}
