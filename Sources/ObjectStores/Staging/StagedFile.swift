internal import AlbumModel
internal import Posix

/// A file of a `StagedDirectory`. It is read where it is at that moment: here or there.
final class StagedFile: StorageFile {
  let path: String
  private let directory: StagedDirectory
  private let known: Mutex<(any StorageFile)?>
  /// Stands for the file in locks, which no object has.
  private let locked = Mutex<(any StorageFile)?>(nil, rank: .outage)
  private let mayWrite: Bool

  /// `far` is the file as it is there, if it was opened there. With `mayWrite` it counts as a writer.
  init(
    _ directory: StagedDirectory, _ path: String, far: (any StorageFile)?, mayWrite: Bool
  ) {
    (self.directory, self.path, self.mayWrite) = (directory, path, mayWrite)
    known = Mutex(far, rank: .outage)
  }

  deinit { if mayWrite { directory.forgetWriter(of: path) } }

  private func current() throws(Errno) -> any StorageFile {
    if let staged = directory.staged(path) { return staged }
    if let far = known.withLock({ $0 }) { return far }
    let far = try directory.far.open(path, .read)
    known.withLock { $0 = far }
    return far
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    try unsafe current().read(into: buffer, at: offset)
  }

  func loadAhead(_ range: Range<Int64>) { (try? current())?.loadAhead(range) }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    guard let staged = directory.staged(path) else { throw .readOnly }
    // The file counts as changed whether all of it was written or not.
    defer { directory.recordWrite(to: path, upTo: offset + Int64(buffer.count)) }
    try unsafe staged.write(buffer, at: offset)
  }

  func write(
    _ buffer: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno) {
    guard let staged = directory.staged(path) else { throw .readOnly }
    let end = offset + Int64(buffer.count) + Int64(rest.count)
    defer { directory.recordWrite(to: path, upTo: end) }
    try unsafe staged.write(buffer, rest, at: offset)
  }

  func sync() throws(Errno) { try directory.staged(path)?.sync() }
  func startWriteback() { directory.staged(path)?.startWriteback() }
  func size() throws(Errno) -> Int64 { try current().size() }

  // Nobody sees times in the staging, and an object has none of its own.
  func modificationTime() throws(Errno) -> Timestamp { Timestamp(seconds: 0) }
  func setModificationTime(_ time: Timestamp) throws(Errno) {}

  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    try lockFile().lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
  }

  func unlock(offset: Int64, length: Int64) throws(Errno) {
    try locked.withLock({ $0 })?.unlock(offset: offset, length: length)
  }

  func isLockedByOthers() throws(Errno) -> Bool { try lockFile().isLockedByOthers() }

  private func lockFile() throws(Errno) -> any StorageFile {
    if let file = locked.withLock({ $0 }) { return file }
    let file = try directory.openLock("lock.\(path)")
    return locked.withLock { locked in
      locked = locked ?? file
      return locked ?? file
    }
  }
}

extension StagedDirectory {
  fileprivate func openLock(_ name: String) throws(Errno) -> any StorageFile {
    do throws(Errno) { return try staging.open(name, .readWrite) } catch {
      if error != .noEntry { throw error }
    }
    do throws(Errno) { return try staging.open(name, .createNew) } catch {
      if error != .exists { throw error }
    }
    return try staging.open(name, .readWrite)
  }

  fileprivate func staged(_ path: String) -> (any StorageFile)? {
    state.withLock { $0.entries[path]?.file }
  }

  fileprivate func recordWrite(to path: String, upTo end: Int64) {
    state.withLock { state in
      guard var entry = state.entries[path] else { return }
      entry.writes += 1
      entry.byteCount = max(entry.byteCount, end)
      state.entries[path] = entry
    }
  }

  fileprivate func forgetWriter(of path: String) {
    state.withLock { $0.entries[path]?.writers -= 1 }
  }
}
