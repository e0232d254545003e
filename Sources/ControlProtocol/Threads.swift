internal import CLinux
internal import Glibc
package import Posix

/// Starts a detached thread. The name shows in `ps -L` and debuggers, cut at 15 bytes.
package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
  let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
  var thread = pthread_t()
  let result = unsafe pthread_create(
    &thread, nil,
    { argument in
      let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument!).takeRetainedValue()
      unsafe start.name.withCString {
        _ = clinux_prctl(PR_SET_NAME_VALUE, UInt(bitPattern: $0), 0)
      }
      start.body()
      return nil
    }, start.toOpaque())
  if result != 0 {
    unsafe start.release()
    throw Errno(result)
  }
  pthread_detach(thread)
}

private final class ThreadStart: Sendable {
  let name: String
  let body: @Sendable () -> Void
  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

/// PR_SET_NAME of <sys/prctl.h>, which Glibc's module leaves out.
private let PR_SET_NAME_VALUE: CInt = 15
