import AlbumFormat
internal import AlbumModel

/// The former place of an inode without a name.
struct FormerRecord {
  var ended: StoreTime
  var removed: Timestamp
  /// Index of the inode.
  var inode: UInt32
  /// Index of the directory's inode, or of the file of which this is a version.
  var directory: UInt32
  var reason: FormerPlace.Reason
  /// In `PastNameTable`; nil: it is a version, which has no name.
  fileprivate var name: UInt32?
}

/// The former places of all inodes that have one, found by the inode's index, and the past names. A place in
/// this table is even for a former name, and odd for a version. Not thread-safe.
struct FormerTable: ~Copyable, Sendable {
  var names: PastNameTable
  private var versions: VersionTable
  private var moments = MomentTable()
  /// No deleted file ended earlier.
  private(set) var oldest = StoreTime.distantFuture

  init(steps: StepCounter = StepCounter()) {
    names = PastNameTable(steps: steps)
    versions = VersionTable(steps: steps)
  }

  var count: Int { names.formerCount + versions.count }

  /// How many versions of the same files were looked at to remove others, which is long where a file has
  /// many.
  var passedVersions: Int { versions.passedCount }

  var byteCount: Int { names.byteCount + versions.byteCount + moments.byteCount }

  /// One more than the greatest place in use.
  var upperBound: UInt32 {
    UInt32(clamping: 2 * UInt64(max(names.upperBound, versions.upperBound)))
  }

  /// The former place at a place below `upperBound`; nil if there is none.
  func occupant(_ place: UInt32) -> FormerRecord? {
    let half = place / 2
    if place % 2 == 0 {
      return half < names.upperBound && names[half].isFormer ? former(name: half) : nil
    }
    return half < versions.upperBound ? versions.occupant(half).map { former($0) } : nil
  }

  func find(_ inode: InodeIndex) -> FormerRecord? {
    names.formerPlace(of: inode).map { former(name: $0) }
      ?? versions.find(inode).map { former($0) }
  }

  /// nil for a former version.
  func name(of record: FormerRecord) -> FileName? { record.name.map { names.name(of: $0) } }

  private func former(name place: UInt32) -> FormerRecord {
    let (name, moment) = (names[place], moments[names[place].moment])
    return FormerRecord(
      ended: moment.ended, removed: moment.removed, inode: name.child, directory: name.directory,
      reason: moment.reason, name: place)
  }

  private func former(_ version: VersionRecord) -> FormerRecord {
    let moment = moments[version.moment]
    return FormerRecord(
      ended: moment.ended, removed: moment.removed, inode: version.version,
      directory: version.file, reason: moment.reason, name: nil)
  }

  /// Adds the place of an inode that has none yet.
  mutating func insert(_ place: FormerPlace, of inode: InodeIndex, in directory: InodeIndex) {
    if place.reason != .directory, place.reason != .changed { oldest = min(oldest, place.ended) }
    let moment = moments.take(for: place)
    if let name = place.name {
      names.insertFormer(name, in: directory, child: inode, moment: moment)
    } else {
      versions.insert(inode, of: directory, moment: moment)
    }
  }

  /// Removes the place of an inode, and returns it.
  mutating func take(_ inode: InodeIndex) -> FormerRecord? {
    guard let record = find(inode) else { return nil }
    if let place = record.name {
      moments.giveBack(names[place].moment)
      names.removeFormer(place)
    } else if let version = versions.find(inode) {
      moments.giveBack(version.moment)
      versions.remove(inode)
    }
    if count == 0 { oldest = .distantFuture }
    return record
  }

  /// Lets the directory of an inode's place be another.
  mutating func setDirectory(of inode: InodeIndex, to directory: InodeIndex) {
    guard let place = names.formerPlace(of: inode) else { return }
    let (name, moment) = (names.name(of: place), names[place].moment)
    names.removeFormer(place)
    names.insertFormer(name, in: directory, child: inode, moment: moment)
  }

  // MARK: Versions

  func newestVersion(of file: InodeIndex) -> InodeIndex? { versions.newestVersion(of: file) }

  func olderVersion(than version: InodeIndex) -> InodeIndex? {
    versions.olderVersion(than: version)
  }

  /// Calls `body` with the versions of a file, the newest first, until it returns false.
  func forEachVersion(of file: InodeIndex, _ body: (InodeIndex) -> Bool) {
    versions.forEachVersion(of: file, body)
  }

  /// Puts a version that has its place among those of its file: behind the next newer one; nil: it is the
  /// newest.
  mutating func link(version: InodeIndex, behind newer: InodeIndex?) {
    versions.link(version, behind: newer)
  }
}
