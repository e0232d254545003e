internal import AlbumModel

/// One directory's listing. Not thread-safe.
struct DirectoryListing {
  struct Slot {
    var cookie: UInt32
    /// Index in the entry table; `.max` if the entry was removed.
    var entry: UInt32
  }

  var parent = InodeNumber.root
  /// In the order of their cookies, so that a listing can continue where it stopped.
  private(set) var slots: [Slot] = []
  private(set) var count = 0
  var subdirectories: UInt32 = 0
  /// The entry that names this directory; `.max` if it has no name.
  var entry: UInt32 = .max
  private var nextCookie: UInt32 = 1

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
  }

  mutating func remove(cookie: UInt32) {
    slots[firstSlot(after: cookie - 1)].entry = .max
    count -= 1
    if slots.count > 32, count < slots.count / 2 { slots.removeAll { $0.entry == .max } }
  }

  func firstSlot(after cookie: UInt32) -> Int {
    var low = 0
    var high = slots.count
    while low < high {
      let middle = (low + high) / 2
      if slots[middle].cookie > cookie { high = middle } else { low = middle + 1 }
    }
    return low
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
