import AlbumFormat
internal import AlbumModel

/// What one name in one directory led to until it changed. 40 bytes.
struct PastNameRecord: IndexedRecord {
  var number: InodeNumber
  /// Index of the directory's inode; `.max` in a free record.
  var directory: UInt32
  /// Index of the inode; `.max`: none.
  var child: UInt32
  var nameStart: UInt32
  var hash: UInt32
  /// The record of the same name before this one; in a free record, the next free record.
  var older: UInt32
  /// The records of the same directory.
  var next: UInt32
  var previous: UInt32

  var indexHash: Int { Int(hash) }
}

/// What names led to before they changed. The newest record of each name is found by (directory, name), as in
/// `EntryTable`; it leads to the older ones. Not thread-safe.
struct PastNameTable: ~Copyable, Sendable {
  private var records = FlatArena<PastNameRecord>()
  private var firstFree: UInt32 = .max
  /// Each name behind a byte with its length.
  private var names = FlatArena<UInt8>(capacity: 256)
  private var deadNameBytes: UInt32 = 0
  private var table = IndexTable()
  /// The first record of each directory.
  private var heads: [UInt32: UInt32] = [:]
  private(set) var count = 0

  /// One more than the greatest place in use.
  var upperBound: UInt32 { records.count }

  subscript(place: UInt32) -> PastNameRecord { records[place] }

  /// The record at a place below `upperBound`; nil if the place is free.
  func occupant(_ place: UInt32) -> PastNameRecord? {
    records[place].directory == .max ? nil : records[place]
  }

  func name(of place: UInt32) -> FileName {
    let start = records[place].nameStart
    return FileName(known: names.slice(start + 1, count: UInt32(names[start])))
  }

  /// The newest record of a name.
  func newest(_ name: FileName, in directory: InodeIndex) -> UInt32? {
    find(name, hash(name, directory.rawValue), directory.rawValue)
  }

  /// The oldest record of a name that is newer than a point.
  func first(_ name: FileName, in directory: InodeIndex, after point: InodeNumber) -> UInt32? {
    var place = newest(name, in: directory) ?? .max
    var found: UInt32?
    while place != .max, records[place].number > point {
      found = place
      place = records[place].older
    }
    return found
  }

  /// The record of a name with this number.
  func place(of name: FileName, in directory: InodeIndex, number: InodeNumber) -> UInt32? {
    var place = newest(name, in: directory) ?? .max
    while place != .max, records[place].number > number { place = records[place].older }
    return place != .max && records[place].number == number ? place : nil
  }

  /// The record of the same name after this one; nil for the newest.
  func newer(than place: UInt32) -> UInt32? {
    var at = find(name(of: place), records[place].hash, records[place].directory) ?? .max
    if at == place { return nil }
    while at != .max, records[at].older != place { at = records[at].older }
    return at == .max ? nil : at
  }

  /// Calls `body` with the records of a directory, in no order. A name may have several.
  func forEach(in directory: InodeIndex, _ body: (UInt32) -> Void) {
    var place = heads[directory.rawValue] ?? .max
    while place != .max {
      body(place)
      place = records[place].next
    }
  }

  mutating func setChild(_ place: UInt32, to child: UInt32) { records[place].child = child }

  mutating func insert(
    _ name: FileName, in directory: InodeIndex, child: InodeIndex?, number: InodeNumber
  ) {
    let hash = hash(name, directory.rawValue)
    let head = find(name, hash, directory.rawValue)
    let place = add(
      PastNameRecord(
        number: number, directory: directory.rawValue, child: child?.rawValue ?? .max,
        nameStart: names.count, hash: hash, older: .max,
        next: heads[directory.rawValue] ?? .max, previous: .max))
    names.append(UInt8(name.bytes.count))
    for byte in name.bytes { names.append(byte) }
    if records[place].next != .max { records[records[place].next].previous = place }
    heads[directory.rawValue] = place
    count += 1
    link(place, to: head)
  }

  private mutating func add(_ record: PastNameRecord) -> UInt32 {
    if firstFree == .max { return records.append(record) }
    let place = firstFree
    firstFree = records[place].older
    records[place] = record
    return place
  }

  /// Puts a record among those of its name, in the order of their numbers. Only replay adds older ones.
  private mutating func link(_ place: UInt32, to head: UInt32?) {
    guard let head else { return table.insert(place, in: records) }
    if records[head].number < records[place].number {
      table.remove(head, in: records)
      records[place].older = head
      return table.insert(place, in: records)
    }
    var at = head
    while records[at].older != .max, records[records[at].older].number > records[place].number {
      at = records[at].older
    }
    records[place].older = records[at].older
    records[at].older = place
  }

  mutating func remove(_ place: UInt32) {
    let record = records[place]
    if let newer = newer(than: place) {
      records[newer].older = record.older
    } else {
      table.remove(place, in: records)
      if record.older != .max { table.insert(record.older, in: records) }
    }
    if record.next != .max { records[record.next].previous = record.previous }
    if record.previous != .max {
      records[record.previous].next = record.next
    } else {
      heads[record.directory] = record.next == .max ? nil : record.next
    }
    deadNameBytes += 1 + UInt32(names[record.nameStart])
    records[place].directory = .max
    records[place].older = firstFree
    firstFree = place
    count -= 1
    if deadNameBytes > 1 << 20, deadNameBytes > names.count / 2 { compactNames() }
  }

  private func find(_ name: FileName, _ hash: UInt32, _ directory: UInt32) -> UInt32? {
    if count == 0 { return nil }
    return table.find(Int(hash)) { place in
      let record = records[place]
      guard record.hash == hash, record.directory == directory,
        Int(names[record.nameStart]) == name.bytes.count
      else { return false }
      let start = record.nameStart + 1
      return name.bytes.enumerated().allSatisfy { names[start + UInt32($0.offset)] == $0.element }
    }
  }

  private func hash(_ name: FileName, _ directory: UInt32) -> UInt32 {
    var hasher = Hasher()
    hasher.combine(directory)
    hasher.combine(name)
    return UInt32(truncatingIfNeeded: hasher.finalize())
  }

  private mutating func compactNames() {
    var packed = FlatArena<UInt8>(capacity: max(256, names.count - deadNameBytes))
    for place in 0..<records.count where records[place].directory != .max {
      let start = records[place].nameStart
      records[place].nameStart = packed.count
      for step in 0...UInt32(names[start]) { packed.append(names[start + step]) }
    }
    names = packed
    deadNameBytes = 0
  }
}
