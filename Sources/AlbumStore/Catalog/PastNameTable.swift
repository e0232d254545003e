import AlbumFormat
internal import AlbumModel

/// What one name in one directory led to: a past name, the former place of an inode, or both. 40 bytes.
struct PastNameRecord: IndexedRecord {
  /// 0: no point needs it, so it is no past name.
  var number: InodeNumber
  /// Index of the directory's inode; `.max` in a free record.
  var directory: UInt32
  /// Index of the inode; `.max`: none.
  var child: UInt32
  var nameStart: UInt32
  /// Of the directory and the name.
  var hash: UInt32
  /// The past name of the same name before this one; in a free record, the next free record.
  var older = UInt32.max
  /// The past names of the same directory.
  var next = UInt32.max
  var previous = UInt32.max
  /// When this name was the last that the child lost, in `MomentTable`; `.max`: it is no former place.
  var moment = UInt32.max

  var isPast: Bool { number.rawValue != 0 }
  var isFormer: Bool { moment != .max }
  var indexHash: Int { Int(hash) }

  fileprivate static func hash(child: PastNameRecord) -> Int {
    IndexTable.hash(UInt64(child.child))
  }
}

/// What names led to before they changed: the past names, and the former places of inodes without a name. The
/// last name of a deleted file is mostly both, and has one record then. The newest past name of each name is
/// found by (directory, name), as in `EntryTable`; it leads to the older ones. A former place is found by its
/// inode. Not thread-safe.
struct PastNameTable: ~Copyable, Sendable {
  private var records = FlatArena<PastNameRecord>()
  private var firstFree: UInt32 = .max
  /// Each name behind a byte with its length.
  private var names = NameArena()
  private var table: IndexTable
  private var formers: IndexTable
  /// The first past name of each directory.
  private var heads = InodeDictionary<UInt32>()
  private let steps: StepCounter
  /// The number of past names.
  private(set) var count = 0

  init(steps: StepCounter = StepCounter()) {
    self.steps = steps
    table = IndexTable(steps: steps)
    formers = IndexTable(steps: steps)
  }

  var formerCount: Int { formers.count }

  var byteCount: Int {
    records.byteCount + names.byteCount + table.byteCount + formers.byteCount
  }

  /// One more than the greatest place in use.
  var upperBound: UInt32 { records.count }

  subscript(place: UInt32) -> PastNameRecord { records[place] }

  /// The past name at a place below `upperBound`; nil if there is none.
  func occupant(_ place: UInt32) -> PastNameRecord? {
    records[place].isPast ? records[place] : nil
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

  /// Calls `body` with up to `limit` records of a directory, in no order, from a place on; nil: from the
  /// first. A name may have several. Returns the next place; nil at the end.
  func forEach(
    in directory: InodeIndex, from start: UInt32?, limit: Int, _ body: (UInt32) -> Void
  ) -> UInt32? {
    var place = heads[directory] ?? .max
    // The record may be gone since.
    if let start, start < records.count, records[start].directory == directory.rawValue,
      records[start].isPast
    {
      place = start
    }
    var count = 0
    while place != .max, count < limit {
      body(place)
      place = records[place].next
      count += 1
    }
    steps.count(count)
    return place == .max ? nil : place
  }

  // MARK: Changes

  /// Lets a past name lead to nothing. A former place keeps its record, since no frame will state it again.
  mutating func forgetChild(_ place: UInt32) {
    let record = records[place]
    if !record.isFormer {
      records[place].child = .max
      return
    }
    let name = name(of: place)
    remove(place)
    insert(
      name, in: InodeIndex(rawValue: record.directory), child: nil, number: record.number)
  }

  /// Adds a past name.
  mutating func insert(
    _ name: FileName, in directory: InodeIndex, child: InodeIndex?, number: InodeNumber
  ) {
    let hash = hash(name, directory.rawValue)
    let head = find(name, hash, directory.rawValue)
    var place: UInt32
    if let child, let former = formerPlace(of: child), !records[former].isPast,
      isRecord(former, of: name, hash, directory.rawValue)
    {
      place = former
    } else {
      place = add(name, in: directory.rawValue, child: child?.rawValue ?? .max, hash: hash)
    }
    records[place].number = number
    records[place].next = heads[directory] ?? .max
    if records[place].next != .max { records[records[place].next].previous = place }
    heads[directory] = place
    count += 1
    link(place, to: head)
  }

  /// Adds the former place of an inode that has none.
  mutating func insertFormer(
    _ name: FileName, in directory: InodeIndex, child: InodeIndex, moment: UInt32
  ) {
    let hash = hash(name, directory.rawValue)
    var place: UInt32
    if let past = find(name, hash, directory.rawValue), records[past].child == child.rawValue {
      place = past
    } else {
      place = add(name, in: directory.rawValue, child: child.rawValue, hash: hash)
    }
    records[place].moment = moment
    formers.insert(place, in: records, by: PastNameRecord.hash(child:))
  }

  func formerPlace(of child: InodeIndex) -> UInt32? {
    formers.find(IndexTable.hash(UInt64(child.rawValue))) { records[$0].child == child.rawValue }
  }

  /// Removes a former place. A past name stays.
  mutating func removeFormer(_ place: UInt32) {
    formers.remove(place, in: records, by: PastNameRecord.hash(child:))
    records[place].moment = .max
    freeIfUnused(place)
  }

  private mutating func add(
    _ name: FileName, in directory: UInt32, child: UInt32, hash: UInt32
  ) -> UInt32 {
    let record = PastNameRecord(
      number: InodeNumber(0), directory: directory, child: child,
      nameStart: names.append(name, isCounted: true), hash: hash)
    moveNames()
    if firstFree == .max { return records.append(record) }
    let place = firstFree
    firstFree = records[place].older
    records[place] = record
    return place
  }

  private mutating func freeIfUnused(_ place: UInt32) {
    let record = records[place]
    if record.isPast || record.isFormer { return }
    names.discard(record.nameStart, count: 1 + UInt32(names[record.nameStart]))
    records[place].directory = .max
    records[place].older = firstFree
    firstFree = place
    moveNames()
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

  /// Removes a past name. A former place stays.
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
      heads[InodeIndex(rawValue: record.directory)] = record.next == .max ? nil : record.next
    }
    records[place].number = InodeNumber(0)
    records[place].older = .max
    records[place].next = .max
    records[place].previous = .max
    count -= 1
    freeIfUnused(place)
  }

  private func find(_ name: FileName, _ hash: UInt32, _ directory: UInt32) -> UInt32? {
    if count == 0 { return nil }
    return table.find(Int(hash)) { isRecord($0, of: name, hash, directory) }
  }

  private func isRecord(
    _ place: UInt32, of name: FileName, _ hash: UInt32, _ directory: UInt32
  ) -> Bool {
    let record = records[place]
    guard record.hash == hash, record.directory == directory,
      Int(names[record.nameStart]) == name.bytes.count
    else { return false }
    let start = record.nameStart + 1
    return name.bytes.enumerated().allSatisfy { names[start + UInt32($0.offset)] == $0.element }
  }

  private func hash(_ name: FileName, _ directory: UInt32) -> UInt32 {
    var hasher = Hasher()
    hasher.combine(directory)
    hasher.combine(name)
    return UInt32(truncatingIfNeeded: hasher.finalize())
  }

  private mutating func moveNames() {
    guard let start = names.next else { return }
    let stop = min(records.count, start + NameArena.namesPerChange)
    steps.count(Int(stop - start))
    for place in start..<stop where records[place].directory != .max {
      let length = UInt32(names[records[place].nameStart])
      records[place].nameStart = names.move(records[place].nameStart, count: 1 + length)
    }
    names.hasMoved(below: stop, of: records.count)
  }
}
