import AlbumFileSystem
import AlbumModel
import Posix

import struct Synchronization.Atomic

/// Remembers what changed.
final class FakeObserver: FileSystemObserver {
  private let heard = Mutex<[(change: FileSystemChange, isOwn: Bool)]>([])

  var changes: [FileSystemChange] { heard.withLock { $0.map(\.change) } }
  var ownChanges: [FileSystemChange] { heard.withLock { $0.filter(\.isOwn).map(\.change) } }

  func changed(_ change: FileSystemChange, isOwn: Bool) {
    heard.withLock { $0.append((change, isOwn)) }
  }
}

/// Clocks that go on only when the test says so.
final class FakeClock: Sendable {
  private let nanoseconds = Mutex<Int64>(1_000_000_000_000)

  func advance(seconds: Int64) { nanoseconds.withLock { $0 += seconds * 1_000_000_000 } }

  var clock: FileSystemClock {
    FileSystemClock(
      now: { Timestamp(nanoseconds: self.tick()) },
      monotonic: { self.nanoseconds.withLock { $0 } })
  }

  /// Each time of day is a little later than the one before, so that changes show.
  private func tick() -> Int64 {
    nanoseconds.withLock {
      $0 += 1000
      return $0
    }
  }
}

/// The real directory, on a disk that a test can fill up.
final class FillableDirectory: StorageDirectory {
  private let real: PosixDirectory
  let isFull = Atomic<Bool>(false)

  init(_ real: PosixDirectory) { self.real = real }

  func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    try real.open(path, access)
  }
  func makeDirectory(_ path: String) throws(Errno) { try real.makeDirectory(path) }
  func rename(_ from: String, to: String) throws(Errno) { try real.rename(from, to: to) }
  func remove(_ path: String) throws(Errno) { try real.remove(path) }
  func list(_ path: String) throws(Errno) -> [String] { try real.list(path) }
  func syncDirectory(_ path: String) throws(Errno) { try real.syncDirectory(path) }

  func capacity() throws(Errno) -> StorageCapacity {
    var capacity = try real.capacity()
    if isFull.load(ordering: .relaxed) { capacity.availableBytes = 0 }
    return capacity
  }
}
