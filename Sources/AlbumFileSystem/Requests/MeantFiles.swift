package import AlbumModel
import Posix

/// The files that programs mean, and not only name, in the request that they make next. Any thread.
///
/// POSIX removes and renames names: whatever a name leads to at that moment. A program that knows a file by
/// its inode looks first, and another one may exchange the names between the look and the call. So it says
/// what it means, by the control socket, and the request finds nothing where the name leads to another file.
package final class MeantFiles: Sendable {
  private struct Meant {
    var name: FileName
    var inode: InodeNumber
  }

  /// By thread. A thread that does not make its request leaves its entry, until its next one.
  private let state = Mutex<[Int32: Meant]>([:], rank: .leaf)
  private static let limit = 1024

  /// The next removal or rename of the name by a thread is of this inode.
  package func add(_ name: FileName, is inode: InodeNumber, by thread: Int32) {
    state.withLock { state in
      if state.count >= MeantFiles.limit { state = [:] }
      state[thread] = Meant(name: name, inode: inode)
    }
  }

  /// Removes and returns the inode that the caller announced for its next request; nil if it announced none
  /// for this name.
  func take(_ name: FileName, by caller: Caller) -> InodeNumber? {
    if caller.thread == 0 { return nil }
    guard let meant = state.withLock({ $0.removeValue(forKey: caller.thread) }) else { return nil }
    return meant.name == name ? meant.inode : nil
  }
}
