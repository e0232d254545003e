internal import AlbumModel
package import Posix

// A store in an object storage, to write to. A session writes segments in place, record after record, and an
// object is only ever saved as a whole. So what is written goes to files of this machine first (the staging),
// and the session sends them in its own order (`StorageRelay`).
//
// - A file is here if it was written after it was sent, or lately. Everything else is there, and is read
//   through a cache (`ObjectDirectory`).
// - The name of a segment contains its session, so nobody else saves an object of that name. A save names the
//   version that it replaces. So one that arrives late, or twice, does no harm.
// - The name of a removed file stays in the staging until it is removed there.
// - A killed session's staging belongs to the next session of that space here.
//
// - What an overtaken session had staged stays until a repair has brought it back, because no journal that
//   counts names it.
//
// In the directory for staging, `<space>/segments` has the files, `<space>/removed` the names of removed
// ones, and `<space>/first` what was announced; `<space>/overtaken` is there if a session was overtaken.
// `lock.<file>` stands for a file with locks.

/// See above. Any thread.
package final class StagedDirectory: StorageDirectory {
  struct Entry {
    /// The file here.
    let file: any StorageFile
    var byteCount: Int64 = 0
    /// Descriptors that may write to it.
    var writers = 0
    /// Counts the writes; and what that was when the file was sent.
    var writes = 0
    var sent: Int?
    /// What is there. nil: nothing, as far as is known.
    var version: ObjectVersion?
    /// Something was saved under this name, or may have been.
    var mayBeThere = false

    var isUnsent: Bool { sent != writes }
  }

  struct State {
    /// The folder of the space; nil before the session begins.
    var space: String?
    var entries: [String: Entry] = [:]
    /// The entries that are sent, the oldest first.
    var order: [String] = []
    var removed: [String] = []
    /// What to send first, and the file that has it.
    var announced: [(path: String, kept: String)] = []
    var isOvertaken = false
    var sentBytes: Int64 = 0
    var problem: String?
  }

  let store: any ObjectStore
  let staging: any StorageDirectory
  /// Where that is on this machine, for messages.
  let stagingPath: String
  /// What is read from the store.
  package let far: ObjectDirectory
  let state = Mutex(State(), rank: .outage)
  /// The bytes that the staging may have.
  let limit: Int64
  private let waiting: Outages
  /// Describes an error for a person.
  let words: @Sendable (ObjectError) -> String
  /// Why the server does not reply at the moment; nil if it does.
  let hindrance: @Sendable () -> ObjectError.Hindrance?

  package let kind = StorageKind(name: "s3", sharing: .network)
  package let isReadFromServer = true
  package var outages: Outages? { waiting }
  package var relay: (any StorageRelay)? { self }

  static let root = "segments"
  static let removals = "removed"
  static let announcements = "first"
  static let overtaken = "overtaken"

  /// `staging` is a directory of this machine for this store alone. `tell` receives an outage when it begins,
  /// and nil when it ends. `words` describes an error for a person.
  package init(
    _ store: any ObjectStore, staging: any StorageDirectory, at stagingPath: String = "",
    limit: Int64,
    tell: @escaping @Sendable (Outage?) -> Void = { _ in },
    words: @escaping @Sendable (ObjectError) -> String = { "\($0)" },
    hindrance: @escaping @Sendable () -> ObjectError.Hindrance? = { nil }
  ) {
    self.words = words
    self.hindrance = hindrance
    self.store = store
    self.staging = staging
    self.stagingPath = stagingPath
    self.limit = limit
    far = ObjectDirectory(store)
    waiting = Outages(tell)
  }

  // MARK: Files

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    if access == .createNew { return try create(path) }
    let isWritten = access == .readWrite
    let (isHere, isRemoved) = state.withLock { state in
      if isWritten { state.entries[path]?.writers += 1 }
      return (state.entries[path] != nil, state.removed.contains(path))
    }
    if isHere { return StagedFile(self, path, far: nil, mayWrite: isWritten) }
    if isRemoved { throw .noEntry }
    return StagedFile(self, path, far: try far.open(path, .read), mayWrite: false)
  }

  private func create(_ path: String) throws(Errno) -> any StorageFile {
    guard path.hasPrefix("\(StagedDirectory.root)/") else { throw .readOnly }
    let place = try place(of: path)
    let isListed = try far.lists(path)
    let isTaken = state.withLock { state in
      state.entries[path] != nil || isListed && !state.removed.contains(path)
    }
    if isTaken { throw .exists }
    makeRoom()
    try makeFolders(of: place)
    let file = try staging.open(place, .createNew)
    let wasRemoved = state.withLock { state in
      let wasRemoved = state.removed.contains(path)
      state.entries[path] = Entry(file: file, writers: 1, mayBeThere: wasRemoved)
      state.removed.removeAll { $0 == path }
      return wasRemoved
    }
    if wasRemoved { try? staging.remove(mark(of: path)) }
    return StagedFile(self, path, far: nil, mayWrite: true)
  }

  package func remove(_ path: String) throws(Errno) {
    let isListed = try far.lists(path)
    let (known, wasRemoved) = state.withLock { ($0.entries[path], $0.removed.contains(path)) }
    if known == nil, wasRemoved || !isListed { throw .noEntry }
    // The mark comes first: a power cut between the two leaves a file that is removed.
    if isListed || known?.mayBeThere ?? false { try writeMark(of: path) }
    if known != nil { try staging.remove(place(of: path)) }
    state.withLock { state in
      state.entries[path] = nil
      state.order.removeAll { $0 == path }
      state.announced.removeAll { $0.path == path }
    }
  }

  private func writeMark(of path: String) throws(Errno) {
    let mark = try mark(of: path)
    try makeFolders(of: mark)
    do throws(Errno) { _ = try staging.open(mark, .createNew) } catch {
      if error != .exists { throw error }
    }
    state.withLock { if !$0.removed.contains(path) { $0.removed.append(path) } }
  }

  package func makeDirectory(_ path: String) throws(Errno) {
    try makeFolders(of: place(of: "\(path)/"))
  }

  /// Nothing of a store but its segments is changed here.
  package func rename(_ from: String, to: String) throws(Errno) { throw .readOnly }

  package func list(_ path: String) throws(Errno) -> [String] {
    var names = Set(try far.list(path))
    let parts = path.split(separator: "/").count
    state.withLock { state in
      if parts > 0 {
        let prefix = "\(path)/"
        for staged in state.entries.keys where staged.hasPrefix(prefix) {
          names.insert(String(staged.split(separator: "/")[parts]))
        }
        if parts == 2 {
          for gone in state.removed where gone.hasPrefix(prefix) {
            names.remove(String(gone.split(separator: "/")[parts]))
          }
        }
      }
    }
    return Array(names)
  }

  package func syncDirectory(_ path: String) throws(Errno) {
    guard let space = state.withLock({ $0.space }) else { return }
    for folder in ["\(space)/\(path)", "\(space)/\(StagedDirectory.removals)", space] {
      do throws(Errno) { try staging.syncDirectory(folder) } catch {
        // What has no folder here has nothing to sync here.
        if error != .noEntry { throw error }
      }
    }
  }

  package func holds(_ file: any StorageFile, at path: String) throws(Errno) -> Bool {
    if !path.hasPrefix("\(StagedDirectory.root)/") { return true }
    return (file as? StagedFile)?.path == path && state.withLock { $0.entries[path] != nil }
  }

  /// That of the staging, because what is written waits there.
  package func capacity() throws(Errno) -> StorageCapacity {
    var capacity = try staging.capacity()
    let (unsent, sent) = byteCounts
    let droppable = isOvertaken ? 0 : sent
    let left = max(0, min(capacity.availableBytes + droppable, limit - unsent))
    capacity.totalBytes = limit
    (capacity.availableBytes, capacity.freeBytes) = (left, left)
    return capacity
  }

  // MARK: The staging

  /// The bytes of files that are not there, and of those that are.
  var byteCounts: (unsent: Int64, sent: Int64) {
    state.withLock { state in
      var sums: (unsent: Int64, sent: Int64) = (0, 0)
      for entry in state.entries.values {
        if entry.isUnsent { sums.unsent += entry.byteCount } else { sums.sent += entry.byteCount }
      }
      return sums
    }
  }

  func place(of path: String) throws(Errno) -> String {
    guard let space = state.withLock({ $0.space }) else { throw .readOnly }
    return "\(space)/\(path)"
  }

  func mark(of path: String) throws(Errno) -> String {
    try place(of: "\(StagedDirectory.removals)/\(path.split(separator: "/").last ?? "")")
  }

  func makeFolders(of place: String) throws(Errno) {
    var folder = ""
    for part in place.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
      folder += folder.isEmpty ? part : "/\(part)"
      do throws(Errno) { try staging.makeDirectory(folder) } catch {
        if error != .exists { throw error }
      }
    }
  }

  /// Room that the disk of the staging keeps for others.
  private static let spareRoom: Int64 = 256 << 20

  /// Drops files that are there as well, the oldest first, while the staging has more than it may, or its
  /// disk is nearly full.
  func makeRoom() {
    if isOvertaken { return }
    let (unsent, sent) = byteCounts
    let left = (try? staging.capacity().availableBytes) ?? .max
    var excess = max(
      unsent + sent - limit / 2, StagedDirectory.spareRoom.saturatingSubtract(left))
    for path in state.withLock({ $0.order }) where excess > 0 { excess -= drop(path) }
  }

  /// Removes a file from the staging if it is there, unchanged, and nobody may write to it. Returns its size.
  @discardableResult
  func drop(_ path: String) -> Int64 {
    guard let place = try? place(of: path) else { return 0 }
    let dropped = state.withLock { state -> Int64? in
      guard let entry = state.entries[path], !entry.isUnsent, entry.writers == 0 else { return nil }
      state.entries[path] = nil
      state.order.removeAll { $0 == path }
      return entry.byteCount
    }
    if dropped != nil { try? staging.remove(place) }
    return dropped ?? 0
  }

  package func wait(after error: Errno, until isOver: () -> Bool) throws(Errno) {
    _ = try waiting.wait(after: error, responds: isOver)
  }
}
