// For timespec: the compiler takes it for CFuse3's, whose headers include the same C header.
internal import CFuse3
internal import Glibc

/// A thread of the driver's own, which ends by itself and is waited for.
final class ServiceThread: Sendable {
  private let handle: pthread_t

  /// Starts it.
  init(_ body: @escaping @Sendable () -> Void) {
    var handle = pthread_t()
    let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
    let result = unsafe pthread_create(&handle, nil, { unsafe runBody($0) }, context)
    precondition(result == 0, "no thread can be started")
    self.handle = handle
  }

  /// Waits for its end. To be called once.
  func join() { _ = pthread_join(handle, nil) }

  fileprivate final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}

private func runBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  unsafe Unmanaged<ServiceThread.Body>.fromOpaque(context).takeRetainedValue().run()
  return nil
}

/// A counting semaphore (sem_overview(7)), to wait for an event with or without a limit.
///
/// `@unchecked` because sem_t is made for several threads; it stands on the heap, never moves, and
/// is freed when nobody can wait any more.
@safe final class Signal: @unchecked Sendable {
  private let raw: UnsafeMutablePointer<sem_t>

  init() {
    unsafe raw = .allocate(capacity: 1)
    unsafe raw.initialize(to: sem_t())
    unsafe _ = sem_init(raw, 0, 0)
  }

  deinit {
    unsafe _ = sem_destroy(raw)
    unsafe raw.deallocate()
  }

  func post() { unsafe _ = sem_post(raw) }

  func wait() {
    while unsafe sem_wait(raw) == -1 && errno == EINTR {}
  }

  /// Answers false when nothing came in time.
  func wait(seconds: Double) -> Bool {
    var deadline = timespec()
    unsafe _ = clock_gettime(CLOCK_REALTIME, &deadline)
    let nanoseconds = deadline.tv_nsec + Int(seconds * 1e9)
    deadline.tv_sec += nanoseconds / 1_000_000_000
    deadline.tv_nsec = nanoseconds % 1_000_000_000
    while unsafe sem_timedwait(raw, &deadline) == -1 {
      if errno != EINTR { return false }
    }
    return true
  }
}
