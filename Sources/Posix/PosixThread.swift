internal import CLinux
internal import Glibc

/// One thread of the process, outside Swift's concurrency, for loops that block. The caller joins or detaches
/// it.
package final class PosixThread: @unchecked Sendable {  // written once, before `init` returns
  private var handle = pthread_t()

  /// Starts a thread. `ps -L` and debuggers show `name` (at most 15 bytes). Only the thread keeps `body`, so
  /// what it captures ends with the thread.
  package init(name: String, _ body: consuming @escaping @Sendable () -> Void) throws(Errno) {
    let start = unsafe Unmanaged.passRetained(Start(name: name, body: body)).toOpaque()
    let code = unsafe pthread_create(
      &handle, nil,
      { argument in
        let start = unsafe Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
        unsafe clinux_set_thread_name(start.name)
        clinux_unbind_from_processor()
        start.body()
        return nil
      }, start)
    if code != 0 {
      unsafe Unmanaged<Start>.fromOpaque(start).release()
      throw Errno(code)
    }
  }

  /// Identifies the calling thread while it runs.
  package static var current: UInt { UInt(pthread_self()) }

  /// The number by which the kernel knows the calling thread.
  package static var number: Int32 { clinux_thread_id() }

  /// Lets the calling thread run on one processor alone. Does nothing if the process may not run there.
  /// Threads that it starts run anywhere.
  package static func bind(toProcessor number: Int) {
    clinux_bind_to_processor(UInt32(clamping: number))
  }

  /// Lets the calling thread run on all processors of the process again.
  package static func unbind() { clinux_unbind_from_processor() }

  /// Gives the calling thread a table of descriptors of its own, which has only the standard ones. It keeps
  /// open nothing else from then on, and sees its descriptors in /proc/thread-self only.
  package static func separateDescriptors() throws(Errno) {
    try retrying { clinux_own_descriptors(UInt32(STDERR_FILENO) + 1) }
  }

  /// Waits until the thread has ended. Call it once.
  package func join() { _ = pthread_join(handle, nil) }

  /// Lets the thread end unobserved. Call it once, instead of `join`.
  package func detach() { _ = pthread_detach(handle) }

  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void
    init(name: String, body: consuming @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}
