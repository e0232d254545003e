import Glibc
import Posix

/// The services of the D-Bus session in which a browsed program runs: gvfs, tumbler and others. Some outlive
/// the session, and would keep the mount busy with the files that they have open in it.
struct BrowseSession {
  /// A variable that all of them inherit.
  let mark = "ALBUMFS_BROWSE=\(UInt64.random(in: .min ... .max))"

  /// The services whose files lie in the space, by the beginning of their name. Programs that a person sees
  /// go on.
  private static let services = ["gvfs", "tumblerd", "dconf-service", "xfconfd"]

  /// Ends them, and waits a moment for their end.
  func endServices() {
    let found = running
    for process in found { _ = kill(process, SIGTERM) }
    for _ in 0..<40 where !found.isEmpty {
      if running.isEmpty { return }
      SystemClock.sleep(milliseconds: 50)
    }
  }

  private var running: [Int32] {
    ProcessState.all().filter { process in
      let name = ProcessState.name(of: process)
      guard BrowseSession.services.contains(where: name.hasPrefix),
        let environment = try? readWholeFile("/proc/\(process)/environ")
      else { return false }
      return environment.split(separator: 0).contains { $0.elementsEqual(mark.utf8) }
    }
  }
}
