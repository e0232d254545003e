package import AlbumFormat
package import AlbumModel

/// The tree of one space, in memory: inodes, names, and the records that hold each file. It is complete and
/// pure: it has no disk, no keys and no clock. `CatalogLock` guards it, and nothing slow is done under that
/// lock.
///
/// Each call records what it changes, and the next frame takes that (`PendingChanges`). So all calls under
/// one hold of the lock are one step of history, which one frame contains completely.
///
/// Invariants:
/// 1. `links` of a file is the number of entries that name it, plus one while a photo has it for
///    its thumbnail; of a directory 1 while it has a name (the root: always), else 0.
/// 2. An inode with `links` 0 lives only while it is pinned or referred to, kept as deleted (`Formers`), or
///    a point shows it (`Past`).
/// 3. For each segment, `live` is the sum of the lengths of all extents that point into it, of those
///    held for content that is not in the catalog yet, and of those detached and not yet let go.
package struct Catalog: ~Copyable, Sendable {
  var inodes: InodeTable
  var entries: EntryTable
  var directories = DirectoryTable()
  var extents: ExtentArena
  /// Rare: symlink targets and extended attributes, by inode.
  var extras = InodeDictionary<InodeExtras>()
  /// True if an inode had a label of SELinux at some time since the mount.
  package private(set) var hasSecurityLabels = false
  /// True once a file has had a POSIX ACL.
  package private(set) var hasAccessControl = false
  package internal(set) var segments = SegmentLedger()
  /// The former places of deleted files, and the past names.
  var formers: FormerTable
  /// The moment of the last file that went, unless a point came since.
  var lastRemoval: RemovalMoment?
  /// The number of former places in each directory that has some.
  var formerCounts = InodeDictionary<UInt32>()
  /// The points in time at which the space shows its tree, in the order of their numbers (`Past`).
  package internal(set) var points: [HistoryPoint] = []
  /// How many past names and versions refer to an inode beyond the first.
  var pastCounts = InodeDictionary<UInt32>()
  var counters = SpaceCounters()
  /// The counters in the journal: no number below is used again after a crash.
  var reserved = SpaceCounters()
  /// The first data segment that this session took; nil if it took none.
  var firstDataSegment: UInt32?
  package internal(set) var properties: [SpaceProperty: UInt64] = [:]
  var changes = PendingChanges()
  /// The session is ending: nothing is reserved ahead.
  var isClosing = false
  /// True during replay, when nothing is recorded as changed.
  var isReplaying = false
  /// Segments that are being emptied, by the number of the emptying.
  var emptyings: [Int: Emptying] = [:]
  /// Sessions of this timeline with possible journal and checkpoint segments in the store. Only segments of
  /// these sessions are ever removed.
  var sessions: [SegmentBirth: SessionStart] = [:]
  /// A part of the journal was missing at an earlier mount, and no repair has cleared that yet.
  var loss: JournalLoss?
  /// The files whose content this session has stated as a whole because of `loss`.
  var statedBehindLoss: Set<InodeNumber> = []
  /// During replay: the loss in the segment's head, until a frame states it.
  var lossMark: JournalHead.LossMark?
  /// The births of the data segments in the store. A repair takes a segment's birth from here if it finds
  /// the segment to be in use.
  var foundBirths: [SegmentNumber: SegmentBirth] = [:]
  /// Inodes whose last frame states an older state than the catalog's.
  var outdated: Set<InodeNumber> = []
  package let memo = DirectoryMemo()
  package private(set) var references = InodeReferences()
  /// Collected by replay after a gap, that is after lost frames; nil without a gap.
  var gap: ReplayGap?

  package init() {
    let steps = StepCounter()
    inodes = InodeTable(steps: steps)
    entries = EntryTable(steps: steps)
    extents = ExtentArena(steps: steps)
    formers = FormerTable(steps: steps)
  }

  /// A space at birth: the root and nothing in it.
  package init(rootOwner: UInt32, group: UInt32, permissions: UInt16, time: Timestamp) {
    self.init()
    var root = InodeState(number: .root, kind: .directory, permissions: permissions)
    root.owner = rootOwner
    root.group = group
    root.links = 1
    root.accessed = time
    root.modified = time
    root.changed = time
    let index = inodes.insert(InodeRecord(state: root, directory: directories.make()))
    markDirty(index, .state)
    changes.counters = true
  }

  // MARK: Inodes

  /// The number of inodes.
  var inodeCount: Int { inodes.count }

  package func index(of number: InodeNumber) -> InodeIndex? { inodes.find(number) }

  package func state(_ index: InodeIndex) -> InodeState { inodes[index].state }

  /// Changes fields of an inode; `number`, `links` and `thumbnail` have calls of their own.
  package mutating func update(_ index: InodeIndex, _ change: (inout InodeState) -> Void) {
    let former = inodes[index].state
    change(&inodes[index].state)
    if !points.isEmpty, !inodes[index].state.looksLike(former) { keepState(of: index, as: former) }
    markDirty(index, .state)
  }

  /// A name in the directory came or went, or a file's content changed.
  package mutating func touch(_ index: InodeIndex, _ time: Timestamp) {
    update(index) {
      $0.modified = time
      $0.changed = time
    }
  }

  /// The attributes for stat(2). A directory has two links, and one more for each directory in it. The size
  /// of a directory is the number of its entries, that of a symlink its target's length.
  package func attributes(_ index: InodeIndex) -> Attributes {
    let record = inodes[index]
    let state = record.state
    var links = state.links
    var size = state.size
    if state.kind == .directory {
      let directory = directories[record.directory]
      links = links == 0 ? 0 : 2 + directory.subdirectories
      size = Int64(directory.count)
    } else if state.kind == .symlink {
      size = Int64(extras[index]?.symlinkTarget.count ?? 0)
    }
    return Attributes(
      inode: state.number, kind: state.kind, permissions: state.permissions, links: links,
      owner: state.owner, group: state.group, device: state.device, size: size,
      blocks: (allocated(index) + 511) / 512, accessed: state.accessed, modified: state.modified,
      changed: state.changed)
  }

  /// A new inode without a name, pinned once so that it stays until it has one.
  package mutating func create(
    kind: FileKind, permissions: UInt16, owner: UInt32, group: UInt32, device: UInt32 = 0,
    time: Timestamp
  ) -> InodeIndex {
    var state = InodeState(number: takeInodeNumber(), kind: kind, permissions: permissions)
    state.owner = owner
    state.group = group
    state.device = device
    state.accessed = time
    state.modified = time
    state.changed = time
    var record = InodeRecord(state: state)
    record.pins = 1
    if kind == .directory { record.directory = directories.make() }
    let index = inodes.insert(record)
    markDirty(index, .state)
    return index
  }

  /// Keeps an inode alive though it may lose its names, until the lock is released: `references` keep it
  /// for longer.
  package mutating func pin(_ index: InodeIndex) { inodes[index].pins += 1 }

  /// True while something else than the catalog knows an inode, see `InodeReferences`.
  package func isReferenced(_ index: InodeIndex) -> Bool {
    references.contains(inodes[index].state.number)
  }

  /// Takes over the references to inodes of another catalog of the space.
  mutating func takeReferences(of other: borrowing Catalog) { references = other.references }

  /// Releases pins; an inode without names and pins is removed.
  package mutating func unpin(_ index: InodeIndex) {
    precondition(inodes[index].pins > 0, "pins given back that were not taken")
    inodes[index].pins -= 1
    freeIfUnused(index)
  }

  /// Replaces the photo's thumbnail by `thumbnail`; nil: none.
  package mutating func setThumbnail(_ thumbnail: InodeIndex?, of photo: InodeIndex) {
    let former = inodes[photo].state.thumbnail
    if let thumbnail {
      inodes[thumbnail].state.links += 1
      markDirty(thumbnail, .state)
    }
    inodes[photo].state.thumbnail = thumbnail.map { inodes[$0].state.number } ?? InodeNumber(0)
    markDirty(photo, .state)
    if former.rawValue != 0, let old = inodes.find(former) { dropLink(old) }
  }

  /// The thumbnail of a photo's current content; nil if it has none, or if its thumbnail was made from other
  /// content. A thumbnail's own content version is that of the content that it shows.
  package func thumbnail(of photo: InodeIndex) -> InodeIndex? {
    let number = state(photo).thumbnail
    guard number.rawValue != 0, let made = index(of: number),
      state(made).contentVersion == state(photo).contentVersion
    else { return nil }
    return made
  }

  /// Removes a photo's thumbnail, whatever content it shows. The newest version that has the same content
  /// takes it.
  package mutating func dropThumbnail(of photo: InodeIndex) {
    if state(photo).thumbnail.rawValue == 0 { return }
    if let made = thumbnail(of: photo), let version = formers.newestVersion(of: photo),
      state(version).contentVersion == state(photo).contentVersion,
      state(version).thumbnail.rawValue == 0
    {
      setMadeThumbnail(made, of: version)
    }
    setThumbnail(nil, of: photo)
  }

  // MARK: Names

  /// The inode that a name in a directory leads to.
  package func child(_ name: FileName, of directory: InodeIndex) -> InodeIndex? {
    entries.find(name, in: directory.rawValue).map { InodeIndex(rawValue: entries[$0].child) }
  }

  /// Gives an inode a new name. A directory gets one name at a time.
  package mutating func insertEntry(
    _ name: FileName, in directory: InodeIndex, child: InodeIndex
  ) {
    keepPastName(name, in: directory, before: child)
    placeEntry(name, in: directory, child: child)
    if inodes[child].state.kind == .directory {
      setParent(of: child, directory, entry: entries.find(name, in: directory.rawValue))
      directories[inodes[directory].directory].subdirectories += 1
      inodes[child].state.links = 1
    } else {
      inodes[child].state.links += 1
    }
    markDirty(child, .state)
    enqueueEntry(name, in: directory)
    dropFormer(of: child)
  }

  /// Removes a name. Returns its inode, nil if there was no such name. The inode is gone if it has no other
  /// name and no pins.
  @discardableResult
  package mutating func removeEntry(_ name: FileName, in directory: InodeIndex) -> InodeNumber? {
    guard let child = child(name, of: directory) else { return nil }
    let number = inodes[child].state.number
    keepPastName(name, in: directory, before: nil)
    dropEntry(name, in: directory)
    enqueueEntry(name, in: directory)
    if inodes[child].state.kind == .directory {
      directories[inodes[directory].directory].subdirectories -= 1
      directories[inodes[child].directory].entry = .max
      inodes[child].state.links = 1
    }
    keepHolder(child, name, in: directory)
    dropLink(child)
    return number
  }

  /// Moves an entry to a free name, in the same or another directory.
  package mutating func moveEntry(
    _ name: FileName, of directory: InodeIndex, to newName: FileName, in newDirectory: InodeIndex
  ) {
    guard let child = child(name, of: directory) else { return }
    pin(child)
    removeEntry(name, in: directory)
    insertEntry(newName, in: newDirectory, child: child)
    unpin(child)
  }

  /// The parent of a directory; the root's is the root.
  package func parent(of directory: InodeIndex) -> InodeNumber {
    directories[inodes[directory].directory].parent
  }

  /// How many entries a directory has.
  func entryCount(of directory: InodeIndex) -> Int {
    directories[inodes[directory].directory].count
  }

  /// How many of them are directories.
  func subdirectoryCount(of directory: InodeIndex) -> Int {
    Int(directories[inodes[directory].directory].subdirectories)
  }

  /// Calls `body` with the entries of a directory after `cookie` (0: all), in the order of their creation,
  /// until it returns false. An entry keeps its cookie while it exists.
  package func forEachEntry(
    of directory: InodeIndex, after cookie: UInt32 = 0,
    _ body: (_ name: FileName, _ child: InodeIndex, _ cookie: UInt32) -> Bool
  ) {
    directories[inodes[directory].directory].forEach(after: cookie) { slot in
      let child = InodeIndex(rawValue: entries[slot.entry].child)
      return body(entries.name(of: slot.entry), child, slot.cookie)
    }
  }

  /// Calls `body` with every inode, in no order.
  package func forEachInode(_ body: (InodeIndex, InodeState) -> Void) {
    _ = forEachInode(from: 0, limit: .max, body)
  }

  /// Calls `body` with the inodes of `limit` places from `start` on. Returns the next start; nil at the end.
  package func forEachInode(
    from start: UInt32, limit: UInt32, _ body: (InodeIndex, InodeState) -> Void
  ) -> UInt32? {
    let end = inodes.upperBound
    if start >= end { return nil }
    let stop = end - start > limit ? start + limit : end
    for raw in start..<stop {
      if let index = inodes.occupant(raw) { body(index, inodes[index].state) }
    }
    return stop < end ? stop : nil
  }

  // MARK: Symlinks and extended attributes

  package func symlinkTarget(_ index: InodeIndex) -> [UInt8] { extras[index]?.symlinkTarget ?? [] }

  package mutating func setSymlinkTarget(_ index: InodeIndex, to target: [UInt8]) {
    extras[index, default: InodeExtras()].symlinkTarget = target
    markDirty(index, .symlink)
  }

  package func attribute(_ name: [UInt8], of index: InodeIndex) -> [UInt8]? {
    extras[index]?.attributes[name]
  }

  package func attributeNames(of index: InodeIndex) -> [[UInt8]] {
    extras[index].map { Array($0.attributes.keys) } ?? []
  }

  /// The extended attribute that holds the label of SELinux.
  package static let securityLabel = Array("security.selinux".utf8)
  /// The beginning of the extended attributes that hold POSIX ACLs.
  private static let accessControlPrefix = Array("system.posix_acl_".utf8)

  /// Sets an extended attribute, or with nil removes it.
  package mutating func setAttribute(_ name: [UInt8], of index: InodeIndex, to value: [UInt8]?) {
    if value != nil, name == Catalog.securityLabel { hasSecurityLabels = true }
    if value != nil, name.starts(with: Catalog.accessControlPrefix) { hasAccessControl = true }
    keepState(of: index)
    extras[index, default: InodeExtras()].attributes[name] = value
    extras[index]?.changedAttributes.insert(name)
    markDirty(index, .attributes)
  }

  // MARK: Internals

  mutating func placeEntry(_ name: FileName, in directory: InodeIndex, child: InodeIndex) {
    let listing = inodes[directory].directory
    let cookie = directories[listing].takeCookie()
    let entry = entries.insert(
      name, in: directory.rawValue, child: child.rawValue, cookie: cookie)
    directories[listing].append(entry, cookie)
  }

  mutating func dropEntry(_ name: FileName, in directory: InodeIndex) {
    guard let entry = entries.find(name, in: directory.rawValue) else { return }
    directories[inodes[directory].directory].remove(cookie: entries[entry].cookie)
    entries.remove(entry)
  }

  mutating func dropLink(_ index: InodeIndex) {
    precondition(inodes[index].state.links > 0, "a link dropped that was not counted")
    inodes[index].state.links -= 1
    markDirty(index, .state)
    freeIfUnused(index)
  }

  mutating func freeIfUnused(_ index: InodeIndex) {
    let record = inodes[index]
    guard record.state.links == 0, record.pins == 0, !isKeptDeleted(index),
      !references.keep(record.state.number)
    else { return }
    if record.isInPast { dropUnseenContent(of: index) } else { free(index) }
  }

  /// The last reference of an inode was given back, at some time before.
  package mutating func removeIfUnused(_ inode: InodeNumber) {
    if let index = index(of: inode) { freeIfUnused(index) }
  }

  mutating func free(_ index: InodeIndex) {
    let state = inodes[index].state
    dropExtents(of: index)
    extras[index] = nil
    if inodes[index].directory != .max { directories.remove(inodes[index].directory) }
    changes.extents[index] = nil
    if !isReplaying { changes.gone.append(state.number) }
    inodes.remove(index)
    if state.thumbnail.rawValue != 0, let thumbnail = inodes.find(state.thumbnail) {
      dropLink(thumbnail)
    }
  }
}

/// Properties of few inodes.
struct InodeExtras {
  var symlinkTarget: [UInt8] = []
  var attributes: [[UInt8]: [UInt8]] = [:]
  var changedAttributes: Set<[UInt8]> = []
}
