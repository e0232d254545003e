package import Posix

// A disk in memory that forgets what was not synced. It answers the core's calls as a local file
// system does, and `crashed` gives one of the states that a power cut may leave: of the writes to
// each file since its last sync any subset, torn at 512-byte sectors; entries made, renamed or
// removed since their directory was synced kept or lost each on its own; lengths likewise.

package final class SimulatedDisk: StorageDirectory {
  package static let sectorSize = 512

  fileprivate final class File: Sendable {
    struct Content {
      var bytes: [UInt8] = []
      var durable: [UInt8] = []
      /// Since the last sync, in order.
      var writes: [Range<Int>] = []
      var modified: Int64 = 0
    }
    let content = Mutex(Content())
  }

  private enum Node {
    case file(File)
    case directory
  }

  private struct State {
    var nodes: [String: Node] = ["": .directory]
    /// What a power cut leaves of the entries for certain.
    var durable: [String: Node] = ["": .directory]
    var calls = 0
    var failsFrom = Int.max
    var failure = Errno.io
  }
  private let state = Mutex(State())

  package init() {}

  // MARK: Faults

  /// How many calls that write were made so far.
  package var callCount: Int { state.withLock { $0.calls } }

  /// Every call that writes fails once `count` were made.
  package func fail(from count: Int, with error: Errno = .io) {
    state.withLock {
      $0.failsFrom = count
      $0.failure = error
    }
  }

  fileprivate func count() throws(Errno) {
    try state.withLock { state throws(Errno) in
      state.calls += 1
      if state.calls > state.failsFrom { throw state.failure }
    }
  }

  /// The disk as a power cut now may leave it.
  package func crashed(_ random: inout SeededRandom) -> SimulatedDisk {
    let disk = SimulatedDisk()
    let (now, durable) = state.withLock { ($0.nodes, $0.durable) }
    var survivors: [String: Node] = durable
    for path in Set(now.keys).union(durable.keys).sorted() {
      if same(now[path], durable[path]) { continue }
      if Bool.random(using: &random) { survivors[path] = now[path] }
    }
    // An entry needs its directory.
    for path in survivors.keys.sorted() where survivors[SimulatedDisk.parent(path)] == nil {
      survivors[path] = nil
    }
    var copies: [String: Node] = [:]
    for path in survivors.keys.sorted() {
      guard let node = survivors[path] else { continue }
      switch node {
      case .directory: copies[path] = .directory
      case .file(let file): copies[path] = .file(SimulatedDisk.torn(file, &random))
      }
    }
    let result = copies
    disk.state.withLock { state in
      state.nodes = result
      state.durable = result
    }
    return disk
  }

  private static func torn(_ file: File, _ random: inout SeededRandom) -> File {
    let content = file.content.withLock { $0 }
    var bytes = content.durable
    let reaches = content.writes.map(\.upperBound).max() ?? 0
    if reaches > bytes.count {
      let length =
        Bool.random(using: &random)
        ? reaches : Int.random(in: bytes.count...reaches, using: &random)
      bytes += [UInt8](repeating: 0, count: length - bytes.count)
    }
    let mode = Int.random(in: 0..<3, using: &random)
    for write in content.writes {
      var position = write.lowerBound
      while position < write.upperBound {
        let end = min(write.upperBound, (position / sectorSize + 1) * sectorSize)
        let isKept = mode == 0 ? Bool.random(using: &random) : mode == 1
        if isKept, end <= bytes.count {
          bytes.replaceSubrange(position..<end, with: content.bytes[position..<end])
        }
        position = end
      }
    }
    let copy = File()
    let result = bytes
    copy.content.withLock {
      $0.bytes = result
      $0.durable = result
    }
    return copy
  }

  private func same(_ one: Node?, _ other: Node?) -> Bool {
    switch (one, other) {
    case (nil, nil), (.directory, .directory): true
    case (.file(let a), .file(let b)): a === b
    default: false
    }
  }

  private static func parent(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  // MARK: StorageDirectory

  package func open(_ path: String, _ access: StorageAccess) throws(Errno) -> any StorageFile {
    if case .createNew = access { try count() }
    return try state.withLock { state throws(Errno) -> OpenedFile in
      if let node = state.nodes[path] {
        guard case .file(let file) = node else { throw .isDirectory }
        if case .createNew = access { throw .exists }
        return OpenedFile(file, self)
      }
      guard case .createNew = access else { throw .noEntry }
      guard case .directory? = state.nodes[SimulatedDisk.parent(path)] else { throw .noEntry }
      let file = File()
      state.nodes[path] = .file(file)
      return OpenedFile(file, self)
    }
  }

  package func makeDirectory(_ path: String) throws(Errno) {
    try count()
    try state.withLock { state throws(Errno) in
      if state.nodes[path] != nil { throw .exists }
      state.nodes[path] = .directory
    }
  }

  package func rename(_ from: String, to: String) throws(Errno) {
    try count()
    try state.withLock { state throws(Errno) in
      guard let node = state.nodes[from] else { throw .noEntry }
      state.nodes[from] = nil
      state.nodes[to] = node
    }
  }

  package func remove(_ path: String) throws(Errno) {
    try count()
    try state.withLock { state throws(Errno) in
      if state.nodes.removeValue(forKey: path) == nil { throw .noEntry }
    }
  }

  package func list(_ path: String) throws(Errno) -> [String] {
    try state.withLock { state throws(Errno) in
      guard case .directory? = state.nodes[path] else { throw .noEntry }
      let prefix = path.isEmpty ? "" : path + "/"
      return state.nodes.keys.filter { $0 != path && $0.hasPrefix(prefix) }
        .map { String($0.dropFirst(prefix.count)) }.filter { !$0.contains("/") && !$0.isEmpty }
    }
  }

  package func syncDirectory(_ path: String) throws(Errno) {
    try count()
    state.withLock { state in
      for (name, node) in state.nodes where SimulatedDisk.parent(name) == path && name != "" {
        state.durable[name] = node
      }
      for name in Array(state.durable.keys)
      where SimulatedDisk.parent(name) == path && state.nodes[name] == nil {
        state.durable[name] = nil
      }
    }
  }

  package func capacity() throws(Errno) -> StorageCapacity {
    StorageCapacity(
      blockSize: 4096, totalBytes: 1 << 40, freeBytes: 1 << 39, availableBytes: 1 << 39,
      totalFiles: 1 << 20, freeFiles: 1 << 20)
  }

  /// One open file of the simulated disk.
  private final class OpenedFile: StorageFile {
    private let file: File
    private let disk: SimulatedDisk

    init(_ file: File, _ disk: SimulatedDisk) {
      self.file = file
      self.disk = disk
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
      file.content.withLock { content in
        let start = min(Int(offset), content.bytes.count)
        let count = min(buffer.count, content.bytes.count - start)
        unsafe content.bytes[start..<start + count].withUnsafeBytes {
          unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).copyMemory(from: $0)
        }
        return count
      }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
      try disk.count()
      file.content.withLock { content in
        let end = Int(offset) + buffer.count
        if end > content.bytes.count {
          content.bytes += [UInt8](repeating: 0, count: end - content.bytes.count)
        }
        unsafe content.bytes.replaceSubrange(Int(offset)..<end, with: buffer)
        content.writes.append(Int(offset)..<end)
      }
    }

    func sync() throws(Errno) {
      try disk.count()
      file.content.withLock { content in
        content.durable = content.bytes
        content.writes = []
      }
    }

    func startWriteback() {}
    func size() throws(Errno) -> Int64 { Int64(file.content.withLock { $0.bytes.count }) }
    func modificationTime() throws(Errno) -> Int64 { file.content.withLock { $0.modified } }
    func setModificationTime(seconds: Int64) throws(Errno) {
      file.content.withLock { $0.modified = seconds }
    }
    func lock(exclusive: Bool, offset: Int64, length: Int64, wait: Bool) throws(Errno) {}
    func unlock(offset: Int64, length: Int64) throws(Errno) {}
  }
}
