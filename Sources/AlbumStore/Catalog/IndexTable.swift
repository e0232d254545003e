/// A record in a flat arena that can be found by its hash.
protocol IndexedRecord: BitwiseCopyable, Sendable {
  /// Constant while the record is in an `IndexTable`.
  var indexHash: Int { get }
}

/// Finds records of a flat arena by hash: their 32-bit indices in open addressing with linear probing, at
/// most two thirds full, without tombstones. It knows only the hashes; the caller compares records. Not
/// thread-safe.
struct IndexTable: Sendable {
  private var slots = [UInt32](repeating: .max, count: 64)
  private(set) var count = 0

  private var mask: Int { slots.count - 1 }

  /// The first index with this hash, or with the same slot, for which `matches` returns true.
  @inline(__always)
  func find(_ hash: Int, where matches: (UInt32) -> Bool) -> UInt32? {
    var slot = hash & mask
    while slots[slot] != .max {
      if matches(slots[slot]) { return slots[slot] }
      slot = (slot + 1) & mask
    }
    return nil
  }

  /// Adds the index of a record in the arena.
  mutating func insert<Record: IndexedRecord>(
    _ index: UInt32, in arena: borrowing FlatArena<Record>
  ) {
    if (count + 1) * 3 > slots.count * 2 { grow(arena) }
    place(index, arena[index].indexHash)
    count += 1
  }

  /// Removes an index, and moves later ones of the same run back over its gap.
  mutating func remove<Record: IndexedRecord>(
    _ index: UInt32, in arena: borrowing FlatArena<Record>
  ) {
    var gap = arena[index].indexHash & mask
    while slots[gap] != index { gap = (gap + 1) & mask }
    var next = (gap + 1) & mask
    while slots[next] != .max {
      let home = arena[slots[next]].indexHash & mask
      if (next - home) & mask >= (next - gap) & mask {
        slots[gap] = slots[next]
        gap = next
      }
      next = (next + 1) & mask
    }
    slots[gap] = .max
    count -= 1
  }

  private mutating func place(_ index: UInt32, _ hash: Int) {
    var slot = hash & mask
    while slots[slot] != .max { slot = (slot + 1) & mask }
    slots[slot] = index
  }

  private mutating func grow<Record: IndexedRecord>(_ arena: borrowing FlatArena<Record>) {
    let old = slots
    slots = [UInt32](repeating: .max, count: old.count * 2)
    for index in old where index != .max { place(index, arena[index].indexHash) }
  }
}
