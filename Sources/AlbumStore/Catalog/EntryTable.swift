internal import AlbumModel

/// One name in one directory. 28 bytes.
struct EntryRecord: IndexedRecord {
  /// Index of the directory's inode; in a free record, of the next free record.
  var parent: UInt32
  var child: UInt32
  var nameStart: UInt32
  var hash: UInt32
  /// The position of the entry in its directory's listing.
  var cookie: UInt32
  /// 0 in a free record.
  var nameLength: UInt8

  var indexHash: Int { Int(hash) }
}

/// All names of a space: entries and the bytes of their names in flat arenas, found through one hash
/// table over (directory, name). The hash is Swift's, which is seeded anew for each process, so that
/// no choice of names makes it slow. Not thread-safe.
struct EntryTable: ~Copyable, Sendable {
  private var entries = FlatArena<EntryRecord>()
  private var firstFree: UInt32 = .max
  private var names = NameArena()
  private var table: IndexTable
  private let steps: StepCounter

  init(steps: StepCounter = StepCounter()) {
    self.steps = steps
    table = IndexTable(steps: steps)
  }

  var count: Int { table.count }

  subscript(index: UInt32) -> EntryRecord { entries[index] }

  mutating func setChild(_ index: UInt32, to child: UInt32) { entries[index].child = child }

  func name(of index: UInt32) -> FileName {
    let entry = entries[index]
    return FileName(known: names.slice(entry.nameStart, count: UInt32(entry.nameLength)))
  }

  func find(_ name: FileName, in parent: UInt32) -> UInt32? {
    let hash = hash(name, parent)
    return table.find(Int(hash)) { matches($0, hash, name, parent) }
  }

  /// Adds a new name.
  mutating func insert(_ name: FileName, in parent: UInt32, child: UInt32, cookie: UInt32) -> UInt32
  {
    let record = EntryRecord(
      parent: parent, child: child, nameStart: names.append(name), hash: hash(name, parent),
      cookie: cookie, nameLength: UInt8(name.bytes.count))
    let index: UInt32
    if firstFree != .max {
      index = firstFree
      firstFree = entries[index].parent
      entries[index] = record
    } else {
      index = entries.append(record)
    }
    table.insert(index, in: entries)
    moveNames()
    return index
  }

  mutating func remove(_ index: UInt32) {
    table.remove(index, in: entries)
    names.discard(entries[index].nameStart, count: UInt32(entries[index].nameLength))
    entries[index].nameLength = 0
    entries[index].parent = firstFree
    firstFree = index
    moveNames()
  }

  private func matches(_ index: UInt32, _ hash: UInt32, _ name: FileName, _ parent: UInt32) -> Bool
  {
    let entry = entries[index]
    guard entry.hash == hash, entry.parent == parent, Int(entry.nameLength) == name.bytes.count
    else { return false }
    for (step, byte) in name.bytes.enumerated() where names[entry.nameStart + UInt32(step)] != byte
    {
      return false
    }
    return true
  }

  /// SipHash. Takes some 30 ns for a name of 20 bytes, 15 ns more than a multiplicative hash would.
  private func hash(_ name: FileName, _ parent: UInt32) -> UInt32 {
    var hasher = Hasher()
    hasher.combine(parent)
    unsafe name.bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return UInt32(truncatingIfNeeded: hasher.finalize())
  }

  private mutating func moveNames() {
    guard let start = names.next else { return }
    let stop = min(entries.count, start + NameArena.namesPerChange)
    steps.count(Int(stop - start))
    for index in start..<stop where entries[index].nameLength > 0 {
      entries[index].nameStart = names.move(
        entries[index].nameStart, count: UInt32(entries[index].nameLength))
    }
    names.hasMoved(below: stop, of: entries.count)
  }
}
