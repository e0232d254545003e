internal import Glibc

/// Reports changes in directories (inotify(7)). One thread reads while others add and remove.
package final class DirectoryWatch: Sendable {
  private let descriptor: FileDescriptor

  /// The result of a read.
  package struct Report: Sendable {
    /// The watches in whose directories something changed.
    package var changed: Set<Int32> = []
    /// The watches whose directory is gone, or whose file system is unmounted.
    package var gone: Set<Int32> = []
    /// True if the kernel dropped reports.
    package var isIncomplete = false
  }

  package init() throws(Errno) {
    let raw = try retrying { inotify_init1(CInt(IN_CLOEXEC_VALUE) | O_NONBLOCK) }
    descriptor = FileDescriptor(owning: raw)
  }

  /// Watches a directory; returns its number. Throws `.noSpace` if the user has as many watches as the system
  /// permits.
  package func add(_ path: some SystemPath) throws(Errno) -> Int32 {
    let events: Int32 =
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB
      | IN_DELETE_SELF
    let path = path.cString
    return try retrying {
      unsafe inotify_add_watch(
        descriptor.rawValue, path, UInt32(events) | DirectoryWatch.onlyDirectories)
    }
  }

  package func remove(_ watch: Int32) { _ = inotify_rm_watch(descriptor.rawValue, watch) }

  /// Waits so long for changes and returns those that there are.
  package func read(waiting milliseconds: Int32) -> Report {
    var report = Report()
    var waiting = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
    if unsafe poll(&waiting, 1, milliseconds) <= 0 { return report }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe Glibc.read(descriptor.rawValue, $0.baseAddress, $0.count)
    }
    var place = 0
    // struct inotify_event: watch, mask, cookie, length of the name; then the name.
    while count > 0, place + 16 <= count {
      let watch = Int32(bitPattern: DirectoryWatch.number(buffer, place))
      let mask = DirectoryWatch.number(buffer, place + 4)
      report.add(watch, mask)
      place += 16 + Int(DirectoryWatch.number(buffer, place + 12))
    }
    return report
  }

  private static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 | UInt32(bytes[place + $1]) << (8 * UInt32($1)) }
  }

  private static let onlyDirectories: UInt32 = 0x0100_0000
}

/// IN_CLOEXEC is an enumerator that equals O_CLOEXEC.
private let IN_CLOEXEC_VALUE: CInt = O_CLOEXEC

extension DirectoryWatch.Report {
  fileprivate mutating func add(_ watch: Int32, _ mask: UInt32) {
    let (overflow, unmounted, ignored): (UInt32, UInt32, UInt32) = (0x4000, 0x2000, 0x8000)
    if mask & overflow != 0 { isIncomplete = true }
    if mask & (unmounted | ignored) != 0 { gone.insert(watch) } else { changed.insert(watch) }
  }
}
