internal import AlbumModel
internal import AlbumSecrets
package import Posix

// How staged files come to the object storage.

/// The content of a staged file at one moment.
struct StagedContent: StagedCopy {
  let path: String
  let bytes: [UInt8]
  /// The count of its writes then; -1: this was never its content.
  let writes: Int

  func beginning(with bytes: [UInt8]) -> StagedContent {
    if bytes.isEmpty { return self }
    return StagedContent(path: path, bytes: bytes + self.bytes.dropFirst(bytes.count), writes: -1)
  }
}

extension StagedDirectory: StorageRelay {
  private static let lanes = 8
  /// How often a file is saved anew because an earlier attempt arrived meanwhile.
  private static let attempts = 8
  private static let fileLimit: Int64 = 1 << 30

  // MARK: The session

  package func begin(_ name: String) throws(StagingFault) {
    state.withLock { $0.space = name }
    for folder in [StagedDirectory.root, StagedDirectory.removals, StagedDirectory.announcements] {
      let place = "\(name)/\(folder)"
      try naming(place) { () throws(Errno) in try makeFolders(of: "\(place)/") }
    }
    try naming(name) { () throws(Errno) in
      try staging.syncDirectory(name)
      try staging.syncDirectory("")
    }
    let isOvertaken = try listed(name).contains(StagedDirectory.overtaken)
    state.withLock { $0.isOvertaken = isOvertaken }
    for path in try stagedPaths(name) {
      let place = "\(name)/\(path)"
      try naming(place) { () throws(Errno) in try adopt(path, place) }
    }
    for file in try listed("\(name)/\(StagedDirectory.removals)") {
      let path = StagedDirectory.path(ofSegment: file)
      state.withLock { $0.removed.append(path) }
      // A power cut brought the file back.
      if state.withLock({ $0.entries.removeValue(forKey: path) }) != nil {
        let place = "\(name)/\(path)"
        try naming(place) { () throws(Errno) in try staging.remove(place) }
      }
    }
    for file in try listed("\(name)/\(StagedDirectory.announcements)") {
      guard let segment = file.split(separator: "-").last else { continue }
      let path = StagedDirectory.path(ofSegment: String(segment))
      state.withLock { state in
        state.announced.append((path, "\(name)/\(StagedDirectory.announcements)/\(file)"))
      }
    }
  }

  private static func path(ofSegment name: String) -> String { "\(root)/\(name.prefix(2))/\(name)" }

  private func stagedPaths(_ space: String) throws(StagingFault) -> [String] {
    var paths: [String] = []
    for folder in try listed("\(space)/\(StagedDirectory.root)") {
      let path = "\(StagedDirectory.root)/\(folder)"
      paths += try listed("\(space)/\(path)").map { "\(path)/\($0)" }
    }
    return paths
  }

  /// The names in a folder of the staging, in their order.
  private func listed(_ folder: String) throws(StagingFault) -> [String] {
    try naming(folder) { () throws(Errno) in try staging.list(folder).sorted() }
  }

  /// Names the path in the staging that a call is about.
  private func naming<Result>(
    _ path: String, _ body: () throws(Errno) -> Result
  ) throws(StagingFault) -> Result {
    do throws(Errno) { return try body() } catch {
      throw StagingFault(path: "\(stagingPath)/\(path)", error: error)
    }
  }

  /// Takes over a file of a killed session. One that is empty was never written.
  private func adopt(_ path: String, _ place: String) throws(Errno) {
    let file = try staging.open(place, .readWrite)
    let size = try file.size()
    if size == 0 { return try staging.remove(place) }
    state.withLock {
      $0.entries[path] = Entry(file: file, byteCount: size, writes: 1, mayBeThere: true)
    }
  }

  package var isOvertaken: Bool { state.withLock { $0.isOvertaken } }

  package func recordOvertaken() throws(Errno) {
    if isOvertaken { return }
    _ = try staging.open(place(of: StagedDirectory.overtaken), .createNew)
    try syncDirectory(StagedDirectory.root)
    state.withLock { $0.isOvertaken = true }
  }

  package func end() {
    if isOvertaken {
      if !unsent.isEmpty { return }
      state.withLock { $0.isOvertaken = false }
      for path in state.withLock({ Array($0.entries.keys) }) { drop(path) }
      // The files go first: what a crash leaves of them is still marked.
      try? staging.remove(place(of: StagedDirectory.overtaken))
    }
    for path in state.withLock({ Array($0.entries.keys) }) { drop(path) }
    let space = state.withLock { state -> String? in
      defer { state.space = nil }
      let isEmpty = state.entries.isEmpty && state.removed.isEmpty && state.announced.isEmpty
      return isEmpty ? state.space : nil
    }
    guard let space, let directory = staging as? PosixDirectory else { return }
    removeFolders(of: space, directory)
  }

  /// The folder of a space shows that there is one.
  private func removeFolders(of space: String, _ directory: PosixDirectory) {
    let root = "\(space)/\(StagedDirectory.root)"
    for folder in (try? directory.list(root)) ?? [] {
      try? directory.removeDirectory("\(root)/\(folder)")
    }
    for folder in [root, "\(space)/\(StagedDirectory.removals)"]
      + ["\(space)/\(StagedDirectory.announcements)", space]
    {
      try? directory.removeDirectory(folder)
    }
  }

  // MARK: What there is to do

  package var unsent: Set<String> {
    state.withLock { state in Set(state.entries.filter { $0.value.isUnsent }.map(\.key)) }
  }

  package var condition: RelayState {
    let unsent = byteCounts.unsent
    let now = hindrance().map { words(.unreachable($0)) }
    return state.withLock {
      RelayState(unsentBytes: unsent, sentBytes: $0.sentBytes, problem: $0.problem ?? now)
    }
  }

  package var storedBytes: Int64 {
    get throws(Errno) {
      let new = state.withLock { state in
        state.entries.values.reduce(into: Int64(0)) { $0 += $1.version == nil ? $1.byteCount : 0 }
      }
      return try far.listedBytes().saturatingAdd(new)
    }
  }

  package var unsentRemovals: [String] { state.withLock { $0.removed } }

  // MARK: Announcements

  package func announce(_ paths: [String], beginningWith bytes: [UInt8]) throws(Errno) {
    let wasSent = state.withLock { state in
      paths.contains { state.entries[$0]?.version != nil }
    }
    if wasSent { return }
    for path in paths { try keep(path, beginningWith: path == paths.last ? [] : bytes) }
  }

  private func keep(_ path: String, beginningWith bytes: [UInt8]) throws(Errno) {
    let content = try content(of: path).beginning(with: bytes)
    let number = state.withLock { $0.announced.count }
    let digits = String(number + 1_000_000)
    let name = path.split(separator: "/").last ?? ""
    let kept = try place(of: "\(StagedDirectory.announcements)/\(digits)-\(name)")
    try? staging.remove(kept)
    let file = try staging.open(kept, .createNew)
    try file.writeAll(content.bytes)
    try file.sync()
    try syncDirectory(StagedDirectory.announcements)
    state.withLock { $0.announced.append((path, kept)) }
  }

  package func sendAnnounced() throws(Errno) {
    for (path, kept) in state.withLock({ $0.announced }) {
      // It may be empty after a power cut; then nothing that needs it was written.
      if state.withLock({ $0.entries[path] }).map({ $0.version == nil }) ?? false,
        try !far.lists(path)
      {
        let bytes = try staging.contents(of: kept, limit: Int(StagedDirectory.fileLimit))
        if !bytes.isEmpty { try save(StagedContent(path: path, bytes: bytes, writes: -1)) }
      }
      try? staging.remove(kept)
      state.withLock { $0.announced.removeAll { $0.kept == kept } }
    }
  }

  // MARK: Sending

  package func copy(_ path: String) throws(Errno) -> any StagedCopy { try content(of: path) }

  package func send(_ copy: any StagedCopy) throws(Errno) {
    guard let content = copy as? StagedContent else { throw .invalid }
    try save(content)
  }

  package func send(_ path: String, beginningWith bytes: [UInt8]) throws(Errno) {
    try save(content(of: path).beginning(with: bytes))
  }

  package func send(_ paths: some Collection<String>) throws(Errno) {
    try inLanes(StagedDirectory.lanes, Array(paths)) { [self] path throws(Errno) in
      do throws(Errno) { try save(content(of: path)) } catch {
        // A file that was removed meanwhile need not go there.
        if error != .noEntry { throw error }
      }
    }
  }

  package func sendRemovals(_ paths: [String]) throws(Errno) {
    for path in paths where state.withLock({ $0.removed.contains(path) }) {
      try telling { () throws(ObjectError) in try store.remove(path) }
      far.record(path, nil)
      let mark = try mark(of: path)
      state.withLock { $0.removed.removeAll { $0 == path } }
      try? staging.remove(mark)
    }
  }

  private func content(of path: String) throws(Errno) -> StagedContent {
    let entry = state.withLock { $0.entries[path] }
    guard let entry else { throw .noEntry }
    let size = try entry.file.size()
    if size > StagedDirectory.fileLimit { throw .tooBig }
    let bytes = try entry.file.bytes(at: 0, count: Int(size))
    return StagedContent(path: path, bytes: bytes, writes: entry.writes)
  }

  /// Saves a file in the place of what is known to be there. Only earlier attempts to save the same file can
  /// have come between.
  private func save(_ content: StagedContent) throws(Errno) {
    let path = content.path
    var known = state.withLock { state in
      state.entries[path]?.mayBeThere = true
      return state.entries[path]?.version
    }
    var version: ObjectVersion?
    for _ in 0..<StagedDirectory.attempts where version == nil {
      version = try telling { () throws(ObjectError) in try attempt(content, &known) }
    }
    guard let version else { throw .busy }
    far.record(path, Int64(content.bytes.count), version)
    state.withLock { state in
      state.problem = nil
      state.sentBytes += Int64(content.bytes.count)
      if state.entries[path] == nil { return }
      state.entries[path]?.version = version
      if content.writes >= 0 { state.entries[path]?.sent = content.writes }
      state.order.removeAll { $0 == path }
      state.order.append(path)
    }
  }

  /// Returns nil if there is something else than was known, which is known then.
  private func attempt(
    _ content: StagedContent, _ known: inout ObjectVersion?
  ) throws(ObjectError) -> ObjectVersion? {
    let condition: SaveCondition = known.map { .same($0) } ?? .absent
    do throws(ObjectError) { return try store.save(content.path, content.bytes, condition) } catch {
      if error != .exists, error != .changed, error != .absent { throw error }
    }
    guard let facts = try store.stat(content.path) else {
      known = nil
      return nil
    }
    known = facts.version
    return facts.digest == SHA256.hash(content.bytes) ? facts.version : nil
  }

  // MARK: There

  package func create(_ path: String, _ bytes: [UInt8]) throws(Errno) {
    let version = try telling { () throws(ObjectError) in try store.save(path, bytes, .absent) }
    far.record(path, Int64(bytes.count), version)
  }

  package func openThere(_ path: String) -> any StorageFile {
    FileThere(
      load: { [self] range throws(Errno) in
        try telling { () throws(ObjectError) in try store.load(path, range, unless: nil) }
      },
      stat: { [self] () throws(Errno) in
        try telling { () throws(ObjectError) in try store.stat(path) }
      })
  }

  package func forgetListing() { far.forgetListing() }
  package func forgetContents(of path: String?) { far.forgetContents(of: path) }

  /// Keeps the reason of a failure for the user.
  func telling<Result>(_ body: () throws(ObjectError) -> Result) throws(Errno) -> Result {
    do throws(ObjectError) { return try body() } catch {
      // A look for what is not there has its answer.
      if error != .absent { state.withLock { $0.problem = words(error) } }
      throw Errno(error)
    }
  }
}
