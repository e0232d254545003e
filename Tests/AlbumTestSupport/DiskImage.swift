// A disk as a value: its content, and what a power cut can take of it. Copies share their bytes, so that
// thousands of states can be built from one recording.
//
// A write is certain once its file was synced. A name that was made, moved or removed is certain once its
// directory was synced. A length is as certain as the writes that made it. Until then each may survive or be
// lost on its own, a write also in part, at the borders of sectors of 512 bytes.

/// One call that changed a disk.
package enum DiskEvent: Sendable {
  case makeFile(path: String, file: Int)
  case makeDirectory(path: String)
  case write(file: Int, offset: Int, bytes: [UInt8])
  case sync(file: Int)
  /// A sync that returned an error. Its data is lost for good, although the file still reads as if the data
  /// were there and later syncs return no error, as on Linux.
  case failedSync(file: Int)
  case setTime(file: Int, seconds: Int64)
  case rename(from: String, to: String)
  case remove(path: String)
  case syncDirectory(path: String)
}

/// How much of the uncertain changes a power cut leaves.
package enum Survival: Sendable, Hashable {
  case nothing
  /// Also the state after a kill of the process alone.
  case everything
  /// All but one write or name, counted from 0.
  case allBut(Int)
  case only(Int)
  case random
}

package struct DiskImage: Sendable {
  package static let sectorSize = 512

  struct Write: Sendable {
    var offset: Int
    var bytes: [UInt8]
    var isLost = false
    var end: Int { offset + bytes.count }
  }

  struct File: Sendable {
    /// The current content.
    var bytes: [UInt8] = []
    /// The content at the last sync.
    var durable: [UInt8] = []
    /// Writes since then, in order.
    var pending: [Write] = []
    var modified: Int64 = 0
  }

  enum Node: Sendable, Equatable {
    case file(Int)
    case directory
  }

  var files: [Int: File] = [:]
  var nodes: [String: Node] = ["": .directory]
  /// The names that survive a power cut for certain.
  var durable: [String: Node] = ["": .directory]

  package init() {}

  package static func parent(_ path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
  }

  // MARK: What happens

  package mutating func apply(_ event: DiskEvent) {
    switch event {
    case .makeFile(let path, let file):
      nodes[path] = .file(file)
      files[file] = File()
    case .makeDirectory(let path): nodes[path] = .directory
    case .write(let file, let offset, let bytes):
      files[file]?.write(Write(offset: offset, bytes: bytes))
    case .sync(let file): files[file]?.sync()
    case .failedSync(let file): files[file]?.loseWrites()
    case .setTime(let file, let seconds): files[file]?.modified = seconds
    case .rename(let from, let to):
      nodes[to] = nodes[from]
      nodes[from] = nil
    case .remove(let path): nodes[path] = nil
    case .syncDirectory(let path): syncDirectory(path)
    }
  }

  private mutating func syncDirectory(_ path: String) {
    for name in changedNames where DiskImage.parent(name) == path && name != "" {
      durable[name] = nodes[name]
    }
  }

  /// Names whose current state is not certain, in order.
  private var changedNames: [String] {
    var changed: [String] = []
    for (path, node) in nodes where durable[path] != node { changed.append(path) }
    for path in durable.keys where nodes[path] == nil { changed.append(path) }
    return changed.sorted()
  }

  /// The same disk without empty folders, like a copy by a tool that keeps none. Their creation and sync
  /// then are part of what a crash may cut.
  package func withoutEmptyFolders() -> DiskImage {
    var image = self
    let parents = Set(nodes.keys.map(DiskImage.parent))
    for (path, node) in nodes where node == .directory && path != "" && !parents.contains(path) {
      image.nodes[path] = nil
      image.durable[path] = nil
    }
    return image
  }

  // MARK: What a power cut leaves

  /// The number of uncertain writes and names.
  package var uncertainCount: Int {
    changedNames.count + files.values.reduce(0) { $0 + $1.pending.count }
  }

  /// A state that a power cut may leave now. Everything in it is certain.
  package func afterPowerCut(_ survival: Survival, _ random: inout SeededRandom) -> DiskImage {
    var unit = 0
    func survives() -> Bool {
      defer { unit += 1 }
      return switch survival {
      case .nothing: false
      case .everything: true
      case .allBut(let lost): unit != lost
      case .only(let kept): unit == kept
      case .random: Bool.random(using: &random)
      }
    }
    var left = DiskImage()
    left.nodes = durable
    for path in changedNames where survives() { left.nodes[path] = nodes[path] }
    for (number, file) in files.sorted(by: { $0.key < $1.key }) {
      var copy = File()
      if file.pending.isEmpty {
        copy.bytes = file.durable
      } else if survival == .random {
        copy.bytes = file.torn(&random)
      } else {
        copy.bytes = file.keeping { _ in survives() }
      }
      copy.durable = copy.bytes
      copy.modified = file.modified
      left.files[number] = copy
    }
    left.dropUnreachable()
    return left
  }

  /// Drops names without a directory, and files without a name.
  private mutating func dropUnreachable() {
    for path in nodes.keys.sorted() where nodes[DiskImage.parent(path)] != .directory {
      nodes[path] = nil
    }
    durable = nodes
    var named: [Int: File] = [:]
    for case .file(let number) in nodes.values { named[number] = files[number] }
    files = named
  }
}

extension DiskImage.File {
  fileprivate mutating func write(_ write: DiskImage.Write) {
    DiskImage.put(write.bytes[...], at: write.offset, into: &bytes)
    pending.append(write)
  }

  fileprivate mutating func sync() {
    if pending.contains(where: \.isLost) {
      for write in pending where !write.isLost {
        DiskImage.put(write.bytes[...], at: write.offset, into: &durable)
      }
      pending.removeAll { !$0.isLost }
    } else {
      durable = bytes
      pending = []
    }
  }

  fileprivate mutating func loseWrites() {
    for place in pending.indices { pending[place].isLost = true }
  }

  /// The certain content, and those writes for which `isKept` returns true.
  fileprivate func keeping(_ isKept: (DiskImage.Write) -> Bool) -> [UInt8] {
    var result = durable
    for write in pending where isKept(write) && !write.isLost {
      DiskImage.put(write.bytes[...], at: write.offset, into: &result)
    }
    return result
  }

  /// A random part of the writes, cut at sectors, and a random length.
  fileprivate func torn(_ random: inout SeededRandom) -> [UInt8] {
    let mode = Int.random(in: 0..<5, using: &random)
    if mode == 0 { return durable }
    if mode == 1 { return keeping { _ in true } }
    let tear = Int.random(in: 0...pending.count, using: &random)
    var result = durable
    for (place, write) in pending.enumerated() where !write.isLost {
      if mode == 2 && !Bool.random(using: &random) { continue }
      if mode == 3 && place > tear { continue }
      var start = write.offset
      while start < write.end {
        let end = min(write.end, (start / DiskImage.sectorSize + 1) * DiskImage.sectorSize)
        let isTorn = mode == 4 || mode == 3 && place == tear
        if !isTorn || Bool.random(using: &random) {
          let part = write.bytes[start - write.offset..<end - write.offset]
          DiskImage.put(part, at: start, into: &result)
        }
        start = end
      }
    }
    let reach = pending.filter { !$0.isLost }.map(\.end).max() ?? 0
    if reach > durable.count, Bool.random(using: &random) {
      let length = Int.random(in: durable.count...reach, using: &random)
      if length <= result.count {
        result.removeLast(result.count - length)
      } else {
        result += [UInt8](repeating: 0, count: length - result.count)
      }
    }
    return result
  }
}

extension DiskImage {
  /// Writes into bytes that grow like a file.
  fileprivate static func put(_ new: ArraySlice<UInt8>, at offset: Int, into bytes: inout [UInt8]) {
    let end = offset + new.count
    if end > bytes.count { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
    bytes.replaceSubrange(offset..<end, with: new)
  }
}

/// The events of a disk since one state of it.
package struct DiskRecording: Sendable {
  package let start: DiskImage
  package let events: [DiskEvent]

  package init(start: DiskImage, events: [DiskEvent]) {
    self.start = start
    self.events = events
  }

  /// The disk after `count` events.
  package func image(after count: Int) -> DiskImage {
    var image = start
    for event in events.prefix(count) { image.apply(event) }
    return image
  }

  /// Calls `body` with the disk before the first event and after each event, and with the count of events.
  package func forEachPrefix(_ body: (Int, DiskImage) throws -> Void) rethrows {
    var image = start
    try body(0, image)
    for (place, event) in events.enumerated() {
      image.apply(event)
      try body(place + 1, image)
    }
  }
}
