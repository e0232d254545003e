/// A record in a flat arena that can be found by its hash.
protocol IndexedRecord: BitwiseCopyable, Sendable {
  /// Constant while the record is in an `IndexTable`.
  var indexHash: Int { get }
}

/// Finds records of a flat arena by hash: their 32-bit indices in open addressing with linear probing,
/// without tombstones. It knows only the hashes; the caller compares records. The slots are in pages, each at
/// most two thirds full. A full page becomes two, by the next bit of the hashes. So no insertion moves more
/// than one page, however many records there are. Not thread-safe.
struct IndexTable: ~Copyable, Sendable {
  /// Slots of a page; the only page begins smaller.
  static let pageSlots = 4096
  private static let pageBits = 12
  /// No index has 32 bits that lead to more pages.
  private static let mostPageBits: UInt8 = 20

  private var slots = FlatArena<UInt32>()
  /// Leads the bits of a hash above those for a slot to the first slot of its page.
  private var pages: [UInt32] = [0]
  /// How many indices each page has, and how many bits of a hash lead to it.
  private var pageCounts = [UInt16](repeating: 0, count: 1)
  private var pageDepths = [UInt8](repeating: 0, count: 1)
  private var mask: Int
  private(set) var count = 0
  private let steps: StepCounter

  init(steps: StepCounter = StepCounter()) {
    self.steps = steps
    slots.append(.max, count: 64)
    mask = 63
  }

  @inline(__always)
  private func page(of hash: Int) -> UInt32 {
    pages[(hash >> IndexTable.pageBits) & (pages.count - 1)]
  }

  /// The first index with this hash, or with the same slot, for which `matches` returns true.
  @inline(__always)
  func find(_ hash: Int, where matches: (UInt32) -> Bool) -> UInt32? {
    let page = page(of: hash)
    var slot = hash & mask
    while true {
      let index = slots[page + UInt32(slot)]
      if index == .max { return nil }
      if matches(index) { return index }
      slot = (slot + 1) & mask
    }
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
    let hashed = hash(arena[index])
    while isFull(page(of: hashed)) {
      if mask + 1 < IndexTable.pageSlots {
        grow(arena, by: hash)
      } else {
        split(page(of: hashed), arena, by: hash)
      }
    }
    place(index, hashed)
    count += 1
  }

  /// Removes an index, and moves later ones of the same run back over its gap.
  @inline(__always)
  mutating func remove<Record>(
    _ index: UInt32, in arena: borrowing FlatArena<Record>, by hash: (Record) -> Int
  ) {
    let hashed = hash(arena[index])
    let page = page(of: hashed)
    var gap = hashed & mask
    while slots[page + UInt32(gap)] != index { gap = (gap + 1) & mask }
    var next = (gap + 1) & mask
    while slots[page + UInt32(next)] != .max {
      let other = slots[page + UInt32(next)]
      let home = hash(arena[other]) & mask
      if (next - home) & mask >= (next - gap) & mask {
        slots[page + UInt32(gap)] = other
        gap = next
      }
      next = (next + 1) & mask
    }
    slots[page + UInt32(gap)] = .max
    pageCounts[number(page)] -= 1
    count -= 1
  }

  @inline(__always)
  private func isFull(_ page: UInt32) -> Bool {
    (Int(pageCounts[number(page)]) + 1) * 3 > (mask + 1) * 2
  }

  private func number(_ page: UInt32) -> Int { Int(page) / IndexTable.pageSlots }

  private mutating func place(_ index: UInt32, _ hash: Int) {
    let page = page(of: hash)
    var slot = hash & mask
    while slots[page + UInt32(slot)] != .max { slot = (slot + 1) & mask }
    slots[page + UInt32(slot)] = index
    pageCounts[number(page)] += 1
  }

  /// Makes the only page twice as large.
  private mutating func grow<Record>(
    _ arena: borrowing FlatArena<Record>, by hash: (Record) -> Int
  ) {
    let old = takeIndices(of: 0)
    slots.append(.max, count: UInt32(mask + 1))
    mask = mask * 2 + 1
    for index in old { place(index, hash(arena[index])) }
  }

  /// Makes two pages of one.
  private mutating func split<Record>(
    _ page: UInt32, _ arena: borrowing FlatArena<Record>, by hash: (Record) -> Int
  ) {
    let depth = pageDepths[number(page)]
    precondition(depth < IndexTable.mostPageBits, "the catalog is full")
    let old = takeIndices(of: page)
    let bit = 1 << Int(depth)
    if bit == pages.count {
      steps.count(pages.count)
      pages += pages
    }
    let new = slots.append(.max, count: UInt32(IndexTable.pageSlots))
    pageDepths[number(page)] = depth + 1
    pageDepths.append(depth + 1)
    pageCounts.append(0)
    for place in pages.indices where pages[place] == page && place & bit != 0 { pages[place] = new }
    for index in old { place(index, hash(arena[index])) }
  }

  private mutating func takeIndices(of page: UInt32) -> [UInt32] {
    let all = slots.slice(page, count: UInt32(mask + 1))
    slots.replace(at: page, with: [UInt32](repeating: .max, count: all.count))
    pageCounts[number(page)] = 0
    let taken = all.filter { $0 != .max }
    steps.count(taken.count)
    return taken
  }

  /// A hash of a number that albumfs assigns, so that nobody can choose it: Fibonacci hashing.
  static func hash(_ number: UInt64) -> Int {
    Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 24)
  }

  /// In memory.
  var byteCount: Int { slots.byteCount + pages.count * MemoryLayout<UInt32>.stride }
}
