import Posix

/// Calls `lock` when the machine is about to sleep, as logind announces it on the system bus. It needs gdbus,
/// as `albumfs-lock.service` does. Without it, sessions end after they have slept.
enum SuspendWatch {
  private static let process = Mutex<Int32?>(nil, rank: .leaf)

  static func stop() {
    if let process = process.withLock({ $0 }) { ProcessSignals.end(process) }
  }

  static func start(_ lock: @escaping @Sendable () -> Void) {
    guard let gdbus = Subprocess.find("gdbus") else { return }
    _ = try? PosixThread(name: "gallery-sleep") {
      let words = [gdbus, "monitor", "--system", "--dest", "org.freedesktop.login1"]
      guard let (ours, theirs) = try? makeSocketPair() else { return }
      let reading = FileDescriptor(owning: ours)
      let writing = FileDescriptor(owning: theirs)
      let places = [
        Subprocess.Redirection(0, -1), Subprocess.Redirection(1, theirs),
        Subprocess.Redirection(2, -1),
      ]
      guard let started = try? Subprocess.start(words, places) else { return }
      self.process.withLock { $0 = started }
      try? writing.close()
      reading.forEachLine { line in
        if line.contains("login1.Manager.PrepareForSleep (true,)") { lock() }
      }
      self.process.withLock { $0 = nil }
      _ = try? Subprocess.wait(started)
    }.detach()
  }
}
