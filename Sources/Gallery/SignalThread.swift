import Glibc
import Posix

/// Receives the signals of the process on a thread of its own: SIGUSR1 locks all sessions, SIGTERM, SIGINT
/// and SIGHUP lock them and end the server.
enum SignalThread {
  static func receive() {
    ProcessSignals.receive([SIGTERM, SIGINT, SIGHUP, SIGUSR1])
    ProcessSignals.ignore(SIGPIPE)
  }

  static func start(
    lock: @escaping @Sendable () async -> Void, end: @escaping @Sendable () async -> Void
  ) {
    _ = try? PosixThread(name: "gallery-signals") {
      while true {
        let signal = ProcessSignals.wait()
        if signal == SIGUSR1 {
          Task { await lock() }
        } else {
          Task {
            await end()
            exit(0)
          }
        }
      }
    }.detach()
  }
}

extension GalleryApplication {
  /// Prepares the process: call it first.
  package static func prepareProcess() {
    SignalThread.receive()
    ProcessSignals.useUnicodeNames()
  }
}
