import AlbumFileSystem
import AlbumModel
import AlbumStore
import Posix

@testable import FUSEDriver

/// Says of every caller what the test says.
final class FakeInspector: CallerInspector {
  private let answer = Mutex<CallerIntent>(.other, rank: .test)
  private let processes = Mutex<Set<Int32>>([], rank: .test)

  var running: Set<Int32> {
    get { processes.withLock { $0 } }
    set { processes.withLock { $0 = newValue } }
  }

  func isRunning(_ process: Int32) -> Bool { running.contains(process) }

  func set(_ intent: CallerIntent) { answer.withLock { $0 = intent } }

  func intent(of thread: Int32, toward name: FileName) -> CallerIntent { answer.withLock { $0 } }

  /// Threads of one process have numbers of the same hundred.
  func process(of thread: Int32) -> Int32? { thread / 100 * 100 }
}
