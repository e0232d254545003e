internal import AlbumFormat
internal import AlbumModel
internal import AlbumSecrets
internal import Posix

/// Why a store was not copied.
package enum StoreTransferError: Error, Equatable, Sendable {
  /// The source holds no store.
  case noStore
  /// The source is a copy that is not complete.
  case unfinishedSource
  /// The target holds something else than a store.
  case occupied
  /// The target holds another store.
  case otherStore
  /// The target holds a copy of the store already.
  case copied
  /// The target is mounted, or another copy into it runs.
  case inUse
  /// What the target holds under a name is not what was copied.
  case differs(String)
  case stopped
  case source(String, ObjectError)
  case target(String, ObjectError)
}

/// How far a copy is. What is compared counts as what is copied.
package struct StoreTransferProgress: Equatable, Sendable {
  package var doneFiles = 0
  package var files = 0
  package var doneBytes: Int64 = 0
  package var bytes: Int64 = 0

  package init() {}
}

package struct StoreTransferReport: Equatable, Sendable {
  package var copied = 0
  package var copiedBytes: Int64 = 0
  /// Files that the target had already, with the same content.
  package var present = 0
  /// Files of the target that the source no longer has.
  package var removed = 0
  /// Files that were read back from the target and compared.
  package var readBack = 0
}

/// Copies a store as a set of files. The conf comes last, so what an interrupted copy leaves is no store, and
/// the next copy of the same source continues there. Each file is compared: by the target itself where that
/// refuses what does not match its SHA-256, and otherwise by reading it back.
package final class StoreTransfer: Sendable {
  package struct Options: Sendable {
    /// A copy that is there becomes the same as the source.
    package var updates = false
    /// Every file is read back.
    package var verifies = false
    /// How long a store in an object storage is watched for a session that writes to it, before it is
    /// overwritten. No lock shows that there.
    package var watchTime = Duration.zero
    /// Is called before that.
    package var watches: @Sendable () -> Void = {}
    /// How many files are copied at once.
    package var lanes = 8
    package var watch: @Sendable (StoreTransferProgress) -> Void = { _ in }
    package var isStopped: @Sendable () -> Bool = { false }

    package init() {}
  }

  private struct State {
    var progress = StoreTransferProgress()
    var report = StoreTransferReport()
    var failure: StoreTransferError?
    /// The files that the target is known to hold.
    var known: [String: Known] = [:]
  }

  private struct Known {
    /// The state of the source's file when it was listed.
    var version: ObjectVersion
    /// What was copied of it.
    var size: Int64
  }

  private let source: any ObjectStore
  private let target: any ObjectStore
  private let options: Options
  private let state = Mutex(State(), rank: .leaf)

  package init(from source: any ObjectStore, to target: any ObjectStore, _ options: Options) {
    (self.source, self.target, self.options) = (source, target, options)
  }

  package func run() throws(StoreTransferError) -> StoreTransferReport {
    let (bytes, configuration) = try sourceConfiguration()
    try prepare(bytes, configuration)
    let locks = try lockTarget()
    let properties = try onTarget { () throws(ObjectError) in try target.probe() }
    let readsBack = options.verifies || !properties.checksContent
    var listed = try segments()
    try pass(listed, readsBack)
    if isInUse {
      // What changed meanwhile: the second run of rsync that the page about backups asks for.
      listed = try segments()
      try pass(listed, readsBack)
    }
    try removeOthers(listed)
    try check(listed)
    try onTarget { () throws(ObjectError) in try target.settle() }
    try finish(readsBack)
    withExtendedLifetime(locks) {}
    return state.withLock { $0.report }
  }

  // MARK: What is there

  /// The name of the file that is there while a copy is not complete.
  package static let mark = StoreNames.unfinished

  private func sourceConfiguration() throws(StoreTransferError) -> ([UInt8], StoreConfiguration) {
    let isUnfinished = try onSource { () throws(ObjectError) in
      try source.holdsUnfinishedCopy()
    }
    if isUnfinished { throw .unfinishedSource }
    let found = try onSource { () throws(ObjectError) in try configuration(of: source) }
    guard let found else { throw .noStore }
    return found
  }

  /// The first usable conf.
  private func configuration(
    of store: any ObjectStore
  ) throws(ObjectError) -> ([UInt8], StoreConfiguration)? {
    for name in StoreNames.configurations {
      guard let bytes = try content(of: name, in: store) else { continue }
      if let decoded = try? StoreConfiguration(decoding: bytes) { return (bytes, decoded) }
    }
    return nil
  }

  private func content(of name: String, in store: any ObjectStore) throws(ObjectError) -> [UInt8]? {
    do throws(ObjectError) { return try store.load(name) } catch {
      if error == .absent { return nil }
      throw error
    }
  }

  /// Makes sure that the target may be written, and marks it as an unfinished copy.
  private func prepare(
    _ bytes: [UInt8], _ configuration: StoreConfiguration
  ) throws(StoreTransferError) {
    let mark = try onTarget { () throws(ObjectError) in
      try content(of: StoreNames.unfinished, in: target)
    }
    if let mark {
      guard let begun = try? StoreConfiguration(decoding: mark),
        begun.isOfSameStore(as: configuration)
      else { throw .otherStore }
    }
    let present = try onTarget { () throws(ObjectError) in try self.configuration(of: target) }
    if let present {
      if !present.1.isOfSameStore(as: configuration) { throw .otherStore }
      if !options.updates, mark == nil { throw .copied }
    } else if mark == nil {
      let isOccupied = try onTarget { () throws(ObjectError) in try target.hasObjects("") }
      if isOccupied { throw .occupied }
    }
    if mark != nil { return }
    let before = present == nil ? nil : try watchTarget()
    do throws(ObjectError) { try target.save(StoreNames.unfinished, bytes, .absent) } catch {
      throw error == .exists ? .inUse : .target(StoreNames.unfinished, error)
    }
    // No mount begins any more.
    if let before, try versionsAtTarget() != before {
      try onTarget { () throws(ObjectError) in try target.remove(StoreNames.unfinished) }
      throw .inUse
    }
  }

  /// Throws `.inUse` if a session writes to the target, whose files change then. Returns their versions; nil
  /// for a directory, where locks show it.
  private func watchTarget() throws(StoreTransferError) -> [String: ObjectVersion]? {
    if target is DirectoryStore { return nil }
    options.watches()
    let before = try versionsAtTarget()
    for _ in 0..<StoreTransfer.looks {
      try wait(options.watchTime * (1 / Double(StoreTransfer.looks)))
      if try versionsAtTarget() != before { throw .inUse }
    }
    return before
  }

  /// How often the target is listed while it is watched.
  private static let looks = 8

  private func wait(_ time: Duration) throws(StoreTransferError) {
    let end = MonotonicTime.now + time
    while MonotonicTime.now < end {
      if options.isStopped() { throw .stopped }
      SystemClock.sleep(milliseconds: 50)
    }
  }

  private func versionsAtTarget() throws(StoreTransferError) -> [String: ObjectVersion] {
    let listed = try onTarget { () throws(ObjectError) in
      try target.listAll(StoreNames.segments)
    }
    return Dictionary(listed.map { ($0.name, $0.version) }) { $1 }
  }

  /// Keeps mounts and other copies out of a directory.
  private func lockTarget() throws(StoreTransferError) -> [any StorageFile] {
    guard let directory = target as? DirectoryStore else { return [] }
    var locks: [any StorageFile] = []
    for name in [StoreNames.unfinished] + StoreNames.configurations {
      do throws(ObjectError) { locks.append(try directory.lock(name)) } catch {
        switch error {
        case .absent: continue
        case .exists: throw .inUse
        default: throw .target(name, error)
        }
      }
    }
    try onTarget { () throws(ObjectError) in
      try directory.removeUnfinished()
      try directory.makeFolders()
    }
    return locks
  }

  /// True if a space of the source is mounted, so that files change while they are copied.
  private var isInUse: Bool {
    guard let directory = source as? DirectoryStore else { return false }
    return StoreNames.configurations.contains { directory.isLocked($0) }
  }

  // MARK: Segments

  private func segments() throws(StoreTransferError) -> [ListedObject] {
    try onSource { () throws(ObjectError) in
      try source.listAll(StoreNames.segments).filter { StoreNames.isSegment($0.name) }
    }
  }

  private func sizesAtTarget() throws(StoreTransferError) -> [String: Int64] {
    let listed = try onTarget { () throws(ObjectError) in
      try target.listAll(StoreNames.segments)
    }
    return Dictionary(listed.map { ($0.name, $0.size) }) { $1 }
  }

  private func pass(_ listed: [ListedObject], _ readsBack: Bool) throws(StoreTransferError) {
    let sizes = try sizesAtTarget()
    state.withLock { state in
      state.progress.files += listed.count
      state.progress.bytes += listed.reduce(0) { $0.saturatingAdd($1.size) }
    }
    inLanes(options.lanes, listed) { object in
      if self.state.withLock({ $0.failure != nil }) { return }
      do throws(StoreTransferError) {
        if self.options.isStopped() { throw .stopped }
        try self.copy(object, sizeAtTarget: sizes[object.name], readsBack)
      } catch {
        self.state.withLock { $0.failure = $0.failure ?? error }
      }
      self.count(object)
    }
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }

  private func count(_ object: ListedObject) {
    let progress = state.withLock { state in
      state.progress.doneFiles += 1
      state.progress.doneBytes += object.size
      return state.progress
    }
    options.watch(progress)
  }

  private func copy(
    _ object: ListedObject, sizeAtTarget: Int64?, _ readsBack: Bool
  ) throws(StoreTransferError) {
    if state.withLock({ $0.known[object.name]?.version }) == object.version { return }
    if sizeAtTarget == object.size, let digest = try equalDigest(object.name) {
      if options.verifies { try readBack(object.name, digest) }
      state.withLock { state in
        state.report.present += 1
        state.known[object.name] = Known(version: object.version, size: object.size)
      }
      return
    }
    let bytes: [UInt8]
    do throws(ObjectError) { bytes = try content(of: object) } catch {
      // A mounted store removes segments that it no longer needs.
      if error == .absent { return }
      throw fault(of: object.name, error) { .source($0, $1) }
    }
    try put(object.name, bytes, readsBack)
    state.withLock { state in
      state.known[object.name] = Known(version: object.version, size: Int64(bytes.count))
    }
  }

  /// The files of a directory change while they are read, and no reply of one is exchanged.
  private func content(of object: ListedObject) throws(ObjectError) -> [UInt8] {
    if source is DirectoryStore { return try source.load(object.name) }
    return try source.load(object, nil).bytes
  }

  /// Saves a file, and reads it back on request.
  private func put(
    _ name: String, _ bytes: [UInt8], _ readsBack: Bool
  ) throws(StoreTransferError) {
    do throws(ObjectError) { try target.save(name, bytes, .any) } catch {
      throw fault(of: name, error) { .target($0, $1) }
    }
    if readsBack { try readBack(name, SHA256.hash(bytes)) }
    state.withLock { state in
      state.report.copied += 1
      state.report.copiedBytes += Int64(bytes.count)
    }
  }

  private func readBack(_ name: String, _ digest: [UInt8]) throws(StoreTransferError) {
    let found: [UInt8]
    do throws(ObjectError) { found = try target.load(name) } catch {
      if error == .damaged || error == .absent { throw .differs(name) }
      throw fault(of: name, error) { .target($0, $1) }
    }
    if SHA256.hash(found) != digest { throw .differs(name) }
    state.withLock { $0.report.readBack += 1 }
  }

  /// The SHA-256 of a file that is the same on both sides; nil if they differ.
  private func equalDigest(_ name: String) throws(StoreTransferError) -> [UInt8]? {
    let own = try onSource(name) { () throws(ObjectError) in try digest(of: name, in: source) }
    let other = try onTarget(name) { () throws(ObjectError) in try digest(of: name, in: target) }
    return own == other ? own : nil
  }

  /// What the store knows, or else that of the content. nil if there is no such object.
  private func digest(of name: String, in store: any ObjectStore) throws(ObjectError) -> [UInt8]? {
    guard let facts = try store.stat(name) else { return nil }
    if let digest = facts.digest { return digest }
    return try content(of: name, in: store).map { SHA256.hash($0) }
  }

  // MARK: The end

  private func removeOthers(_ listed: [ListedObject]) throws(StoreTransferError) {
    let wanted = Set(listed.map(\.name))
    for name in try sizesAtTarget().keys.sorted()
    where !wanted.contains(name) && StoreNames.isSegment(name) {
      if options.isStopped() { throw .stopped }
      try onTarget(name) { () throws(ObjectError) in try target.remove(name) }
      state.withLock { $0.report.removed += 1 }
    }
  }

  /// The target must list what was copied, with its sizes.
  private func check(_ listed: [ListedObject]) throws(StoreTransferError) {
    let sizes = try sizesAtTarget()
    let known = state.withLock { $0.known }
    for object in listed {
      // One that went while it was copied is not known.
      guard let copied = known[object.name] else { continue }
      if sizes[object.name] != copied.size { throw .differs(object.name) }
    }
  }

  /// Copies the small files, the confs last, and removes the mark.
  private func finish(_ readsBack: Bool) throws(StoreTransferError) {
    for name in [StoreNames.keys] + StoreNames.configurations.reversed() {
      let bytes = try onSource(name) { () throws(ObjectError) in try content(of: name, in: source) }
      let present = try onTarget(name) { () throws(ObjectError) in try content(of: name, in: target)
      }
      guard let bytes else { continue }
      if bytes == present { continue }
      try put(name, bytes, readsBack)
    }
    try onTarget { () throws(ObjectError) in
      try target.settle()
      try target.remove(StoreNames.unfinished)
      try target.settle()
    }
  }

  // MARK: Errors

  private func onSource<Result>(
    _ name: String = "", _ body: () throws(ObjectError) -> Result
  ) throws(StoreTransferError) -> Result {
    do throws(ObjectError) { return try body() } catch {
      throw fault(of: name, error) { .source($0, $1) }
    }
  }

  private func onTarget<Result>(
    _ name: String = "", _ body: () throws(ObjectError) -> Result
  ) throws(StoreTransferError) -> Result {
    do throws(ObjectError) { return try body() } catch {
      throw fault(of: name, error) { .target($0, $1) }
    }
  }

  private func fault(
    of name: String, _ error: ObjectError, _ side: (String, ObjectError) -> StoreTransferError
  ) -> StoreTransferError {
    error == .stopped ? .stopped : side(name, error)
  }
}
