import AlbumFormat
import AlbumModel

/// The place of an inode in the arena: stable during the inode's life, but not across mounts.
package struct InodeIndex: Hashable, Sendable, BitwiseCopyable {
  let rawValue: UInt32
}

/// The memory of one inode.
struct InodeRecord: IndexedRecord {
  var state: InodeState
  var extents = ExtentBlock()
  /// Index in the table of directories; in a free record, of the next free record.
  var directory: UInt32 = .max
  /// References by callers, open files and running work: they keep an inode without names alive.
  var pins: UInt32 = 0
  /// The parts that the next frame must record.
  var dirty = Dirty()
  /// Only during replay: an entry named it before it was stated itself, or an item stated that it is gone.
  var isExpected = false
  /// Only during replay: an item stated that it is gone.
  var isGone = false
  /// Whose former state or place the catalog keeps, and why.
  private(set) var keeping = Keeping()
  /// True if `FormerTable` has its former place.
  var isFormer: Bool {
    get { keeping.contains(.former) }
    set { keeping.set(.former, newValue) }
  }
  /// True if a past name or a version refers to it; `Catalog.pastCounts` has how many more.
  var isInPast: Bool {
    get { keeping.contains(.inPast) }
    set { keeping.set(.inPast, newValue) }
  }

  init(state: InodeState, directory: UInt32 = .max) {
    self.state = state
    self.directory = directory
  }

  var indexHash: Int { InodeTable.hash(state.number) }

  struct Keeping: OptionSet, BitwiseCopyable, Sendable {
    let rawValue: UInt8
    static let former = Keeping(rawValue: 1)
    static let inPast = Keeping(rawValue: 2)

    mutating func set(_ what: Keeping, _ isSet: Bool) {
      if isSet { formUnion(what) } else { subtract(what) }
    }
  }

  struct Dirty: OptionSet, BitwiseCopyable, Sendable {
    let rawValue: UInt8
    static let state = Dirty(rawValue: 1)
    static let extents = Dirty(rawValue: 2)
    static let symlink = Dirty(rawValue: 4)
    static let attributes = Dirty(rawValue: 8)
  }
}

/// All inodes in one flat arena, found by number through a hash table. Not thread-safe.
struct InodeTable: ~Copyable, Sendable {
  private var records = FlatArena<InodeRecord>()
  private var firstFree: UInt32 = .max
  private var table: IndexTable

  init(steps: StepCounter = StepCounter()) { table = IndexTable(steps: steps) }

  var count: Int { table.count }

  var byteCount: Int { records.byteCount + table.byteCount }

  subscript(index: InodeIndex) -> InodeRecord {
    get { records[index.rawValue] }
    _modify { yield &records[index.rawValue] }
  }

  /// One more than the greatest index in use.
  var upperBound: UInt32 { records.count }

  /// The inode at an index below `upperBound`; nil if the place is free.
  func occupant(_ raw: UInt32) -> InodeIndex? {
    records[raw].state.number.rawValue == 0 ? nil : InodeIndex(rawValue: raw)
  }

  func find(_ number: InodeNumber) -> InodeIndex? {
    table.find(InodeTable.hash(number)) { records[$0].state.number == number }
      .map { InodeIndex(rawValue: $0) }
  }

  mutating func insert(_ record: InodeRecord) -> InodeIndex {
    let index: UInt32
    if firstFree != .max {
      index = firstFree
      firstFree = records[index].directory
      records[index] = record
    } else {
      index = records.append(record)
    }
    table.insert(index, in: records)
    return InodeIndex(rawValue: index)
  }

  mutating func remove(_ index: InodeIndex) {
    table.remove(index.rawValue, in: records)
    records[index.rawValue].state.number = InodeNumber(0)
    records[index.rawValue].directory = firstFree
    firstFree = index.rawValue
  }

  fileprivate static func hash(_ number: InodeNumber) -> Int { IndexTable.hash(number.rawValue) }
}
