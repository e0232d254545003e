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
  @inline(__always)
  mutating func insert<Record: IndexedRecord>(
    _ index: UInt32, in arena: borrowing FlatArena<Record>
  ) {
    insert(index, in: arena) { $0.indexHash }
  }

  /// Removes an index.
  @inline(__always)
  mutating func remove<Record: IndexedRecord>(
    _ index: UInt32, in arena: borrowing FlatArena<Record>
  ) {
    remove(index, in: arena) { $0.indexHash }
  }

  /// Adds the index of a record that this table finds by a hash of its own.
  @inline(__always)
  mutating func insert<Record>(
    _ index: UInt32, in arena: borrowing FlatArena<Record>, by hash: (Record) -> Int
  ) {
    if (count + 1) * 3 > slots.count * 2 { grow(arena, by: hash) }
    place(index, hash(arena[index]))
    count += 1
  }

  /// Removes an index, and moves later ones of the same run back over its gap.
  @inline(__always)
  mutating func remove<Record>(
    _ index: UInt32, in arena: borrowing FlatArena<Record>, by hash: (Record) -> Int
  ) {
    var gap = hash(arena[index]) & mask
    while slots[gap] != index { gap = (gap + 1) & mask }
    var next = (gap + 1) & mask
    while slots[next] != .max {
      let home = hash(arena[slots[next]]) & mask
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

  private mutating func grow<Record>(
    _ arena: borrowing FlatArena<Record>, by hash: (Record) -> Int
  ) {
    let old = slots
    slots = [UInt32](repeating: .max, count: old.count * 2)
    for index in old where index != .max { place(index, hash(arena[index])) }
  }

  /// A hash of a number that albumfs assigns, so that nobody can choose it: Fibonacci hashing.
  static func hash(_ number: UInt64) -> Int {
    Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 24)
  }

  /// In memory.
  var byteCount: Int { slots.count * MemoryLayout<UInt32>.stride }
}
