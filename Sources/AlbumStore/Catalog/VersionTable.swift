/// The file of which an inode without a name is a version. 16 bytes.
struct VersionRecord: BitwiseCopyable, Sendable {
  /// Index of the version's inode.
  var version: UInt32
  /// Index of the file's inode; `.max` in a free record.
  var file: UInt32
  /// The inode of the next older version of the file, `.max`: none; in a free record, the next free record.
  var older: UInt32
  /// In `MomentTable`.
  var moment: UInt32
}

/// The versions of all inodes that have some, found by the index of the version, and those of a file in the
/// order of their age. Not thread-safe.
struct VersionTable: ~Copyable, Sendable {
  private var records = FlatArena<VersionRecord>()
  private var firstFree: UInt32 = .max
  private var versions: IndexTable
  /// The newest version of each file; it leads to the older ones.
  private var newest: IndexTable
  /// How many versions were looked at to remove others.
  private(set) var passedCount = 0
  private let steps: StepCounter

  init(steps: StepCounter = StepCounter()) {
    self.steps = steps
    versions = IndexTable(steps: steps)
    newest = IndexTable(steps: steps)
  }

  var count: Int { versions.count }

  var byteCount: Int { records.byteCount + versions.byteCount + newest.byteCount }

  /// One more than the greatest place in use.
  var upperBound: UInt32 { records.count }

  /// The record at a place below `upperBound`; nil if the place is free.
  func occupant(_ place: UInt32) -> VersionRecord? {
    records[place].file == .max ? nil : records[place]
  }

  func find(_ version: InodeIndex) -> VersionRecord? { place(of: version).map { records[$0] } }

  /// Adds a version, which is not yet among those of its file.
  mutating func insert(_ version: InodeIndex, of file: InodeIndex, moment: UInt32) {
    let record = VersionRecord(
      version: version.rawValue, file: file.rawValue, older: .max, moment: moment)
    var place = firstFree
    if place == .max {
      place = records.append(record)
    } else {
      firstFree = records[place].older
      records[place] = record
    }
    versions.insert(place, in: records) { IndexTable.hash(UInt64($0.version)) }
  }

  mutating func remove(_ version: InodeIndex) {
    guard let place = place(of: version) else { return }
    unlink(place)
    versions.remove(place, in: records) { IndexTable.hash(UInt64($0.version)) }
    records[place].file = .max
    records[place].older = firstFree
    firstFree = place
  }

  // MARK: The versions of a file

  func newestVersion(of file: InodeIndex) -> InodeIndex? {
    newestPlace(of: file.rawValue).map { InodeIndex(rawValue: records[$0].version) }
  }

  func olderVersion(than version: InodeIndex) -> InodeIndex? {
    guard let record = find(version), record.older != .max else { return nil }
    return InodeIndex(rawValue: record.older)
  }

  /// Calls `body` with the versions of a file, the newest first, until it returns false.
  func forEachVersion(of file: InodeIndex, _ body: (InodeIndex) -> Bool) {
    var next = newestVersion(of: file)
    while let version = next, body(version) {
      steps.count()
      next = olderVersion(than: version)
    }
  }

  /// Puts a version among those of its file: behind the next newer one; nil: it is the newest.
  mutating func link(_ version: InodeIndex, behind newer: InodeIndex?) {
    guard let place = place(of: version) else { return }
    if let newer, let other = self.place(of: newer) {
      records[place].older = records[other].older
      records[other].older = version.rawValue
      return
    }
    let former = newestPlace(of: records[place].file)
    records[place].older = former.map { records[$0].version } ?? .max
    setNewest(from: former, to: place)
  }

  private mutating func unlink(_ place: UInt32) {
    let record = records[place]
    if newestPlace(of: record.file) == place {
      let older = record.older == .max ? nil : self.place(of: InodeIndex(rawValue: record.older))
      return setNewest(from: place, to: older)
    }
    var (newer, passed): (InodeIndex?, Int) = (nil, 0)
    forEachVersion(of: InodeIndex(rawValue: record.file)) { version in
      if version.rawValue == record.version { return false }
      (newer, passed) = (version, passed + 1)
      return true
    }
    passedCount += passed
    if let newer, let other = self.place(of: newer), records[other].older == record.version {
      records[other].older = record.older
    }
  }

  private mutating func setNewest(from former: UInt32?, to place: UInt32?) {
    if let former { newest.remove(former, in: records) { IndexTable.hash(UInt64($0.file)) } }
    if let place { newest.insert(place, in: records) { IndexTable.hash(UInt64($0.file)) } }
  }

  private func newestPlace(of file: UInt32) -> UInt32? {
    newest.find(IndexTable.hash(UInt64(file))) { records[$0].file == file }
  }

  private func place(of version: InodeIndex) -> UInt32? {
    versions.find(IndexTable.hash(UInt64(version.rawValue))) {
      records[$0].version == version.rawValue
    }
  }
}
