internal import AlbumModel

/// One directory's listing. Not thread-safe.
struct DirectoryListing {
  struct Slot {
    var cookie: UInt32
    /// Index in the entry table; `.max` if the entry was removed.
    var entry: UInt32
  }

  var parent = InodeNumber.root
  /// In the order of their cookies, so that a listing can continue where it stopped. Those before `next` are
  /// in `packed`.
  private var slots: [Slot] = []
  /// While slots of removed entries go: those of the others so far.
  private var packed: [Slot] = []
  private var next = 0
  private var isPacking = false
  private(set) var count = 0
  var subdirectories: UInt32 = 0
  /// The entry that names this directory; `.max` if it has no name.
  var entry: UInt32 = .max
  private var nextCookie: UInt32 = 1

  /// So many slots are looked at with each change of a listing that loses slots of removed entries.
  private static let slotsPerChange = 64

  /// The cookie of the newest entry, even if it was removed; 0 if there was none.
  var lastCookie: UInt32 { nextCookie - 1 }

  mutating func takeCookie() -> UInt32 {
    precondition(nextCookie < .max, "a directory saw more than 4 billion entries in one mount")
    defer { nextCookie += 1 }
    return nextCookie
  }

  mutating func append(_ entry: UInt32, _ cookie: UInt32) {
    slots.append(Slot(cookie: cookie, entry: entry))
    count += 1
    pack()
  }

  mutating func remove(cookie: UInt32) {
    if let last = packed.last, last.cookie >= cookie {
      packed[DirectoryListing.first(after: cookie - 1, in: packed[...])].entry = .max
    } else {
      slots[DirectoryListing.first(after: cookie - 1, in: slots[next...])].entry = .max
    }
    count -= 1
    if !isPacking, slots.count > 32, count < slots.count / 2 {
      isPacking = true
      packed.reserveCapacity(count)
    }
    pack()
  }

  /// Calls `body` with the slots after a cookie that have an entry, in order, until it returns false.
  func forEach(after cookie: UInt32 = 0, _ body: (Slot) -> Bool) {
    if DirectoryListing.visit(packed[...], after: cookie, body) {
      _ = DirectoryListing.visit(slots[next...], after: cookie, body)
    }
  }

  private static func visit(
    _ slots: ArraySlice<Slot>, after cookie: UInt32, _ body: (Slot) -> Bool
  ) -> Bool {
    for slot in slots[first(after: cookie, in: slots)...] where slot.entry != .max {
      if !body(slot) { return false }
    }
    return true
  }

  private static func first(after cookie: UInt32, in slots: ArraySlice<Slot>) -> Int {
    slots.partitioningIndex { $0.cookie > cookie }
  }

  private mutating func pack() {
    if !isPacking { return }
    let stop = min(slots.count, next + DirectoryListing.slotsPerChange)
    for slot in slots[next..<stop] where slot.entry != .max { packed.append(slot) }
    next = stop
    if next < slots.count { return }
    slots = packed
    (packed, next, isPacking) = ([], 0, false)
  }
}

/// The listings of all directories. Not thread-safe.
struct DirectoryTable {
  private var listings: [DirectoryListing] = []
  private var free: [UInt32] = []

  subscript(index: UInt32) -> DirectoryListing {
    get { listings[Int(index)] }
    _modify { yield &listings[Int(index)] }
  }

  mutating func make() -> UInt32 {
    if let index = free.popLast() { return index }
    listings.append(DirectoryListing())
    return UInt32(listings.count - 1)
  }

  mutating func remove(_ index: UInt32) {
    listings[Int(index)] = DirectoryListing()
    free.append(index)
  }
}
