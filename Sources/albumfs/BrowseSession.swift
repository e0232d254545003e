import Glibc
import Posix

/// What a browsed program starts beside itself: gvfs, tumbler and other services of its D-Bus session. Some
/// outlive the session, and would keep the mount busy with the files that they have open in it.
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
    let names = (try? PosixDirectory(path: "/proc").list("")) ?? []
    return names.compactMap { Int32($0) }.filter { process in
      guard let name = try? readWholeFile("/proc/\(process)/comm"),
        BrowseSession.services.contains(where: { name.starts(with: $0.utf8) }),
        let environment = try? readWholeFile("/proc/\(process)/environ")
      else { return false }
      return environment.split(separator: 0).contains { $0.elementsEqual(mark.utf8) }
    }
  }
}
