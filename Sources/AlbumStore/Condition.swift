internal import Glibc

/// Lets threads wait for a change that is guarded by some other lock: take the token, look under
/// that lock, and wait only if nothing was notified since the token was taken. Any thread.
@safe final class Condition: @unchecked Sendable {  // the count is guarded by the mutex
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var notifications: UInt64 = 0

  init() {
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

  /// What was notified so far.
  var token: UInt64 {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return notifications
  }

  func notifyAll() {
    unsafe pthread_mutex_lock(mutex)
    notifications &+= 1
    unsafe pthread_cond_broadcast(condition)
    unsafe pthread_mutex_unlock(mutex)
  }

  /// Returns once something was notified since `token` was taken, or after `milliseconds`.
  func wait(since token: UInt64, milliseconds: Int? = nil) {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    var deadline = timespec()
    if let milliseconds {
      unsafe clock_gettime(CLOCK_MONOTONIC, &deadline)
      deadline.tv_sec += milliseconds / 1000
      deadline.tv_nsec += milliseconds % 1000 * 1_000_000
      if deadline.tv_nsec >= 1_000_000_000 {
        deadline.tv_sec += 1
        deadline.tv_nsec -= 1_000_000_000
      }
    }
    while notifications == token {
      if milliseconds == nil {
        unsafe pthread_cond_wait(condition, mutex)
      } else if unsafe pthread_cond_timedwait(condition, mutex, &deadline) != 0 {
        return
      }
    }
  }
}
