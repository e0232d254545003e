import Foundation
import Glibc

// Tests wait for events, never for a time: a line of a log, a field of `albumfs status --json`, a file, the
// end of a process. A time is too short on a busy machine and too long on any other. To show that something
// does not happen, a test waits for an event that comes later, before which it would have happened.
//
// Only this file and its twins for scripts and for Python, in Tests/Waiting, sleep (TidyTests).

/// Waits until something is so, for five minutes at most; returns whether it is.
package func eventually(_ isSo: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + .seconds(300)
  // Most events come soon, and tests by the thousand wait for some.
  var pause: UInt32 = 100
  while try !isSo() {
    if ContinuousClock.now >= end { return false }
    usleep(pause)
    pause = min(pause * 3 / 2, 50_000)
  }
  return true
}

/// Makes something slow that a test uses, for instance a disk. A test does not wait for its own events so.
package func beSlow(milliseconds: UInt32) { usleep(milliseconds * 1000) }

package enum Waiting {
  /// Functions for scripts: `await` and `ended`.
  package static let shell = text("waiting.sh")
  /// The same for Python: `eventually`, `be_slow` and `stay`.
  package static let python = text("waiting.py")

  private static func text(_ name: String) -> String {
    let path =
      URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().path + "/Waiting/" + name
    return (try? String(contentsOfFile: path, encoding: .utf8)) ?? "exit 99 # no \(path)\n"
  }
}
