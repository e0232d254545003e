import AlbumFormat
import AlbumModel

/// The place of an inode in the arena: stable while the inode lives, not across mounts.
package struct InodeIndex: Hashable, Sendable, BitwiseCopyable {
  let rawValue: UInt32
}

/// What memory holds of one inode.
struct InodeRecord: BitwiseCopyable, Sendable {
  var state: InodeState
  var extents = ExtentBlock()
  /// Index in the table of directories; of the next free record where this one is free.
  var directory: UInt32 = .max
  /// References of the kernel, open files and work under way: they keep an inode without names.
  var pins: UInt32 = 0
  /// What the next frame must state of it.
  var dirty = Dirty()
  /// Named by an entry before it was stated itself; only while replaying.
  var isExpected = false

  struct Dirty: OptionSet, BitwiseCopyable, Sendable {
    let rawValue: UInt8
    static let state = Dirty(rawValue: 1)
    static let extents = Dirty(rawValue: 2)
    static let symlink = Dirty(rawValue: 4)
    static let attributes = Dirty(rawValue: 8)
  }
}

/// All inodes in one flat arena, found by number through an open-addressing table. Not thread-safe.
struct InodeTable: ~Copyable, Sendable {
  private var records = FlatArena<InodeRecord>()
  private var firstFree: UInt32 = .max
  private var slots = [UInt32](repeating: .max, count: 64)
  private(set) var count = 0

  subscript(index: InodeIndex) -> InodeRecord {
    get { records[index.rawValue] }
    _modify { yield &records[index.rawValue] }
  }

  /// One more than the greatest index in use.
  var upperBound: UInt32 { records.count }

  /// The inode at an index below `upperBound`; nil where none lives there.
  func occupant(_ raw: UInt32) -> InodeIndex? {
    records[raw].state.number.rawValue == 0 ? nil : InodeIndex(rawValue: raw)
  }

  func find(_ number: InodeNumber) -> InodeIndex? {
    var slot = home(number)
    while slots[slot] != .max {
      if records[slots[slot]].state.number == number { return InodeIndex(rawValue: slots[slot]) }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  mutating func insert(_ record: InodeRecord) -> InodeIndex {
    if (count + 1) * 3 > slots.count * 2 { rehash(slots.count * 2) }
    let index: UInt32
    if firstFree != .max {
      index = firstFree
      firstFree = records[index].directory
      records[index] = record
    } else {
      index = records.append(record)
    }
    place(index)
    count += 1
    return InodeIndex(rawValue: index)
  }

  mutating func remove(_ index: InodeIndex) {
    let mask = slots.count - 1
    var gap = home(records[index.rawValue].state.number)
    while slots[gap] != index.rawValue { gap = (gap + 1) & mask }
    var next = (gap + 1) & mask
    while slots[next] != .max {
      let home = home(records[slots[next]].state.number)
      if (next - home) & mask >= (next - gap) & mask {
        slots[gap] = slots[next]
        gap = next
      }
      next = (next + 1) & mask
    }
    slots[gap] = .max
    records[index.rawValue].state.number = InodeNumber(0)
    records[index.rawValue].directory = firstFree
    firstFree = index.rawValue
    count -= 1
  }

  /// Fibonacci hashing: numbers are handed out in order by ourselves, nobody can choose them.
  private func home(_ number: InodeNumber) -> Int {
    let product = number.rawValue &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: product >> 24) & (slots.count - 1)
  }

  private mutating func place(_ index: UInt32) {
    var slot = home(records[index].state.number)
    while slots[slot] != .max { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = index
  }

  private mutating func rehash(_ size: Int) {
    let old = slots
    slots = [UInt32](repeating: .max, count: size)
    for index in old where index != .max { place(index) }
  }
}
