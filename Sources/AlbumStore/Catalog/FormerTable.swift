import AlbumFormat
internal import AlbumModel

/// The former place of one inode without a name. 40 bytes.
struct FormerRecord: IndexedRecord {
  var ended: StoreTime
  var removed: Timestamp
  /// Index of the inode; in a free record, of the next free record.
  var inode: UInt32
  /// Index of the directory's inode, or of the file of which this is a version; `.max` in a free record.
  var directory: UInt32
  /// Of a version, the inode of the next older version of the file; `.max`: none.
  var nameStart: UInt32
  var nameLength: UInt8
  var reason: FormerPlace.Reason

  var indexHash: Int { FormerTable.hash(inode) }
}

/// The former places of all inodes that have one, found by the inode's index. Not thread-safe.
struct FormerTable: ~Copyable, Sendable {
  private var records = FlatArena<FormerRecord>()
  private var firstFree: UInt32 = .max
  private var names = FlatArena<UInt8>(capacity: 256)
  private var deadNameBytes: UInt32 = 0
  private var table = IndexTable()
  /// The newest version of each file that has some; it leads to the older ones.
  private var newestVersions: [UInt32: UInt32] = [:]
  /// No deleted file ended earlier.
  private(set) var oldest = StoreTime.distantFuture

  var count: Int { table.count }

  /// One more than the greatest place in use.
  var upperBound: UInt32 { records.count }

  /// The record at a place below `upperBound`; nil if the place is free.
  func occupant(_ place: UInt32) -> FormerRecord? {
    records[place].directory == .max ? nil : records[place]
  }

  func find(_ inode: InodeIndex) -> FormerRecord? { place(of: inode).map { records[$0] } }

  /// nil for a former version.
  func name(of record: FormerRecord) -> FileName? {
    if record.nameLength == 0 { return nil }
    return FileName(known: names.slice(record.nameStart, count: UInt32(record.nameLength)))
  }

  /// Adds the place of an inode that has none yet.
  mutating func insert(_ place: FormerPlace, of inode: InodeIndex, in directory: InodeIndex) {
    let name = place.name?.bytes ?? []
    let record = FormerRecord(
      ended: place.ended, removed: place.removed, inode: inode.rawValue,
      directory: directory.rawValue, nameStart: place.reason.isVersion ? .max : names.count,
      nameLength: UInt8(name.count), reason: place.reason)
    if place.reason != .directory, place.reason != .changed { oldest = min(oldest, place.ended) }
    for byte in name { names.append(byte) }
    let index: UInt32
    if firstFree != .max {
      index = firstFree
      firstFree = records[index].inode
      records[index] = record
    } else {
      index = records.append(record)
    }
    table.insert(index, in: records)
  }

  /// Removes the place of an inode, and returns it.
  mutating func take(_ inode: InodeIndex) -> FormerRecord? {
    guard let place = place(of: inode) else { return nil }
    let record = records[place]
    if record.reason.isVersion { unlink(record) }
    table.remove(place, in: records)
    deadNameBytes += UInt32(record.nameLength)
    records[place].nameLength = 0
    records[place].directory = .max
    records[place].inode = firstFree
    firstFree = place
    if count == 0 { oldest = .distantFuture }
    if deadNameBytes > 1 << 20, deadNameBytes > names.count / 2 { compactNames() }
    return record
  }

  /// Lets the directory of an inode's place be another.
  mutating func setDirectory(of inode: InodeIndex, to directory: InodeIndex) {
    if let place = place(of: inode) { records[place].directory = directory.rawValue }
  }

  // MARK: Versions

  func newestVersion(of file: InodeIndex) -> InodeIndex? {
    newestVersions[file.rawValue].map { InodeIndex(rawValue: $0) }
  }

  func olderVersion(than version: InodeIndex) -> InodeIndex? {
    guard let record = find(version), record.nameStart != .max else { return nil }
    return InodeIndex(rawValue: record.nameStart)
  }

  /// Calls `body` with the versions of a file, the newest first, until it returns false.
  func forEachVersion(of file: InodeIndex, _ body: (InodeIndex) -> Bool) {
    var next = newestVersion(of: file)
    while let version = next, body(version) { next = olderVersion(than: version) }
  }

  /// Puts a version that has its place among those of its file: behind the next newer one; nil: it is the
  /// newest.
  mutating func link(version: InodeIndex, of file: InodeIndex, behind newer: InodeIndex?) {
    guard let place = place(of: version) else { return }
    if let newer, let other = self.place(of: newer) {
      records[place].nameStart = records[other].nameStart
      records[other].nameStart = version.rawValue
    } else {
      records[place].nameStart = newestVersions[file.rawValue] ?? .max
      newestVersions[file.rawValue] = version.rawValue
    }
  }

  private mutating func unlink(_ record: FormerRecord) {
    let file = InodeIndex(rawValue: record.directory)
    if newestVersions[record.directory] == record.inode {
      newestVersions[record.directory] = record.nameStart == .max ? nil : record.nameStart
      return
    }
    var newer: InodeIndex?
    forEachVersion(of: file) { version in
      if version.rawValue == record.inode { return false }
      newer = version
      return true
    }
    if let newer, let place = place(of: newer), records[place].nameStart == record.inode {
      records[place].nameStart = record.nameStart
    }
  }

  private func place(of inode: InodeIndex) -> UInt32? {
    table.find(FormerTable.hash(inode.rawValue)) { records[$0].inode == inode.rawValue }
  }

  /// albumfs assigns the indices, so nobody can choose them.
  fileprivate static func hash(_ inode: UInt32) -> Int {
    let product = UInt64(inode) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: product >> 24)
  }

  private mutating func compactNames() {
    var packed = FlatArena<UInt8>(capacity: max(256, names.count - deadNameBytes))
    for index in 0..<records.count where records[index].nameLength > 0 {
      let record = records[index]
      let start = packed.count
      for step in 0..<UInt32(record.nameLength) { packed.append(names[record.nameStart + step]) }
      records[index].nameStart = start
    }
    names = packed
    deadNameBytes = 0
  }
}
