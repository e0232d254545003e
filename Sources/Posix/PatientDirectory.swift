package import AlbumModel

/// A store on a network, which waits while the store does not respond (`Outages`).
///
/// When the store is back, calls on names, and reads, are made again. A write or sync throws its error
/// instead: what its descriptor had written may be lost, so the space writes that content anew elsewhere
/// (Rescue.swift). If the file system was mounted anew, its directory is opened by its path. Any thread.
package final class PatientDirectory: StorageDirectory {
  private let known: Mutex<any StorageDirectory>
  private let lastCapacity = Mutex<StorageCapacity?>(nil, rank: .outage)
  private let log: Outages
  private let reopen: @Sendable () throws(Errno) -> any StorageDirectory
  private let isStore: @Sendable (any StorageDirectory) -> Bool
  package let kind: StorageKind

  /// `reopen` opens the directory by its path. `isStore` reads from a directory that may not respond, and
  /// returns true if it is this store.
  package init(
    _ directory: any StorageDirectory, tell: @escaping @Sendable (Outage?) -> Void,
    reopen: @escaping @Sendable () throws(Errno) -> any StorageDirectory,
    isStore: @escaping @Sendable (any StorageDirectory) -> Bool
  ) {
    known = Mutex(directory, rank: .outage)
    log = Outages(tell)
    self.reopen = reopen
    self.isStore = isStore
    kind = directory.kind
  }

  package var outages: Outages? { log }

  private var current: any StorageDirectory { known.withLock { $0 } }

  /// Returns when the store responds, see `Outages.wait`. Returns true if it did not before, or not through
  /// its old directory.
  fileprivate func wait(after error: Errno) throws(Errno) -> Bool {
    let former = current
    let wasAway = try log.wait(after: error, responds: responds)
    return wasAway || current !== former
  }

  private func responds() -> Bool {
    if isStore(current) { return true }
    guard let again = try? reopen(), again.kind == kind, isStore(again) else { return false }
    known.withLock { $0 = again }
    return true
  }

  /// Runs a call that may be made twice, again when the store is back. The error of a store that responds is
  /// one of its own if it comes twice.
  private func patiently<Result>(
    _ body: (any StorageDirectory) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    try repeating { () throws(Errno) in try body(current) }
  }

  fileprivate func repeating<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    var wasRepeated = false
    while true {
      do throws(Errno) { return try log.calling(body) } catch {
        if !error.mayBeOutage { throw error }
        let wasAway = try wait(after: error)
        if wasRepeated && !wasAway { throw error }
        wasRepeated = true
      }
    }
  }

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    let file = try patiently { directory throws(Errno) in try directory.open(path, access) }
    return PatientFile(file, path, in: self)
  }

  fileprivate func calling(_ body: () throws(Errno) -> Void) throws(Errno) {
    try log.calling(body)
  }

  /// The file that a call opens after the store was away.
  fileprivate func openAgain(_ path: String) throws(Errno) -> any StorageFile {
    try current.open(path, .read)
  }

  package func makeDirectory(_ path: String) throws(Errno) {
    try patiently { directory throws(Errno) in try directory.makeDirectory(path) }
  }

  package func rename(_ from: String, to: String) throws(Errno) {
    try patiently { directory throws(Errno) in try directory.rename(from, to: to) }
  }

  package func remove(_ path: String) throws(Errno) {
    try patiently { directory throws(Errno) in try directory.remove(path) }
  }

  package func list(_ path: String) throws(Errno) -> [String] {
    try patiently { directory throws(Errno) in try directory.list(path) }
  }

  package func listWithTimes(_ path: String) throws(Errno) -> (names: [String], times: FileTimes?) {
    try patiently { directory throws(Errno) in try directory.listWithTimes(path) }
  }

  package func syncDirectory(_ path: String) throws(Errno) {
    try patiently { directory throws(Errno) in try directory.syncDirectory(path) }
  }

  package func holds(_ file: any StorageFile, at path: String) throws(Errno) -> Bool {
    guard let file = file as? PatientFile else { return false }
    return try patiently { directory throws(Errno) in try directory.holds(file.written, at: path) }
  }

  package func folderTimes(_ path: String) throws(Errno) -> FileTimes? {
    try patiently { directory throws(Errno) in try directory.folderTimes(path) }
  }

  package func setFolderTime(_ path: String, _ time: Timestamp) throws(Errno) {
    try patiently { directory throws(Errno) in try directory.setFolderTime(path, time) }
  }

  package func touchForeignFolder(_ path: String) throws(Errno) {
    try patiently { directory throws(Errno) in try directory.touchForeignFolder(path) }
  }

  package func syncRemovals() throws(Errno) {
    try patiently { directory throws(Errno) in try directory.syncRemovals() }
  }

  /// While the store does not respond, the room is that of the last call.
  package func capacity() throws(Errno) -> StorageCapacity {
    do throws(Errno) {
      let capacity = try log.calling { () throws(Errno) in try current.capacity() }
      lastCapacity.withLock { $0 = capacity }
      return capacity
    } catch {
      if error.mayBeOutage, let last = lastCapacity.withLock({ $0 }) { return last }
      return try patiently { directory throws(Errno) in try directory.capacity() }
    }
  }

  package var mayHaveSeveralOwners: Bool { current.mayHaveSeveralOwners }
}

private final class PatientFile: StorageFile {
  /// What the caller writes to and has locked.
  let written: any StorageFile
  /// What the caller reads from: another one after the store was away.
  private let readable: Mutex<any StorageFile>
  private let path: String
  private let directory: PatientDirectory

  init(_ file: any StorageFile, _ path: String, in directory: PatientDirectory) {
    written = file
    readable = Mutex(file, rank: .outage)
    self.path = path
    self.directory = directory
  }

  private func reading<Result>(
    _ body: (any StorageFile) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    var isFirst = true
    return try directory.repeating { () throws(Errno) in
      if !isFirst {
        let again = try directory.openAgain(path)
        readable.withLock { $0 = again }
      }
      isFirst = false
      return try body(readable.withLock { $0 })
    }
  }

  /// Throws the error of `body`, and in an outage only when that is over.
  private func writing(_ body: () throws(Errno) -> Void) throws(Errno) {
    do throws(Errno) { try directory.calling(body) } catch {
      if error.mayBeOutage { _ = try directory.wait(after: error) }
      throw error
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
    try reading { file throws(Errno) in try unsafe file.read(into: buffer, at: offset) }
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
    try writing { () throws(Errno) in try unsafe written.write(buffer, at: offset) }
  }

  func write(
    _ buffer: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno) {
    try writing { () throws(Errno) in try unsafe written.write(buffer, rest, at: offset) }
  }

  func sync() throws(Errno) { try writing { () throws(Errno) in try written.sync() } }
  func startWriteback() { written.startWriteback() }

  func size() throws(Errno) -> Int64 {
    try reading { file throws(Errno) in try file.size() }
  }

  func modificationTime() throws(Errno) -> Timestamp {
    try reading { file throws(Errno) in try file.modificationTime() }
  }

  func times() throws(Errno) -> FileTimes {
    try reading { file throws(Errno) in try file.times() }
  }

  func hasOtherNames() throws(Errno) -> Bool {
    try reading { file throws(Errno) in try file.hasOtherNames() }
  }

  var isForeign: Bool { written.isForeign }
  func touchAccessTime() { written.touchAccessTime() }

  func setModificationTime(_ time: Timestamp) throws(Errno) {
    try writing { () throws(Errno) in try written.setModificationTime(time) }
  }

  func setAccessTime(_ time: Timestamp) throws(Errno) {
    try writing { () throws(Errno) in try written.setAccessTime(time) }
  }

  func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {
    try written.lock(exclusive: exclusive, offset: offset, length: length, wait: wait)
  }

  func unlock(offset: Int64, length: Int64) throws(Errno) {
    try written.unlock(offset: offset, length: length)
  }

  func proveLock(exclusive: Bool, offset: Int64, length: Int64) throws(Errno) {
    try writing { () throws(Errno) in
      try written.proveLock(exclusive: exclusive, offset: offset, length: length)
    }
  }

  func isLockedByOthers() throws(Errno) -> Bool { try written.isLockedByOthers() }
}
