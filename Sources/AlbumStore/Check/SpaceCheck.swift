import AlbumFormat
import AlbumModel
package import AlbumSecrets
import Posix

/// How a check goes.
package struct CheckOptions: Sendable {
  /// Whether the space is made consistent. Without it nothing in the store is changed.
  package var repairs = false
  /// Owner and group of the root, should nothing be left that states them.
  package var owner: UInt32 = 0
  package var group: UInt32 = 0
  /// What the name of a file whose name is lost ends with, told by its first bytes (512 at most);
  /// nil: nothing.
  package var fileEnding: (@Sendable ([UInt8]) -> String?)?
  package init() {}
}

/// Checks a space: opens every record that its catalog refers to, and holds the catalog against
/// itself. Does not give up where a mount is refused; what it finds it tells by album and photo.
///
/// 1. The catalog is brought back as at a mount, or gathered from what is left (`Recovery.salvage`).
/// 2. It is checked for itself: names, links, extents, thumbnails, counters (`CatalogCheck`).
/// 3. Every record that extents point to is opened, once, segment by segment (`RecordPass`).
/// 4. Where a part of the journal is missing, all other records of the space are looked at, too: they
///    tell which files the lost part was about (`LooseContent`).
package enum SpaceCheck {
  /// Takes the space's lock; any thread. `progress` is called now and then, from threads of the
  /// check's own, and answers whether to go on. Throws `.inUse` where the space is mounted,
  /// `.missing` where the store holds nothing that these keys open, `.unsupportedFeature`, and what
  /// the disk answers.
  package static func run(
    _ store: Store, keys: SpaceKeys, options: CheckOptions = CheckOptions(),
    progress: @escaping @Sendable (CheckProgress) -> Bool = { _ in true }
  ) throws(StoreError) -> CheckReport {
    let lock = try SpaceLock.take(store: store, keys: keys, readOnly: !options.repairs)
    defer { lock.release() }
    var examination = try Examination(store, keys: keys, progress: progress)
    try examination.run()
    var report = examination.report(store)
    if options.repairs, report.isComplete, report.wantsRepair || examination.hasLooseContent {
      _ = progress(CheckProgress(step: .repair))
      report.repairs = try examination.repair(store, options: options)
    }
    return report
  }
}

/// One look at a space, and all that was found.
struct Examination: ~Copyable {
  let files: SegmentFiles
  private(set) var catalog: Catalog
  private(set) var recovery: Recovery
  let salvaged: SalvageReport
  let catalogCheck: CatalogCheck
  let journalCheck: JournalCheck
  private(set) var segments: [SegmentFindings] = []
  private(set) var loose: LooseContent?
  /// Segments that a session finished and that the catalog does not know.
  private(set) var strays: Set<SegmentNumber> = []
  private(set) var isComplete = true
  /// A part of the journal is missing, so that records tell more than the catalog knows.
  let isJournalIncomplete: Bool
  private let progress: @Sendable (CheckProgress) -> Bool

  /// Brings the catalog back. The caller holds the space's lock.
  init(
    _ store: Store, keys: SpaceKeys, progress: @escaping @Sendable (CheckProgress) -> Bool
  ) throws(StoreError) {
    _ = progress(CheckProgress(step: .catalog))
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize,
      readsAround: true)
    var catalog = Catalog()
    let listing = try files.list()
    var recovery = Recovery(
      listing, files: files, content: ContentStore(files: files), boot: .current)
    try recovery.salvage(into: &catalog)
    let salvaged = recovery.salvaged ?? SalvageReport()
    if salvaged.hasNoJournal { try Examination.requireSegments(listing) }
    let journalCheck = try JournalCheck(&recovery, salvaged)
    try recovery.showWhole(&catalog)
    isJournalIncomplete =
      recovery.report.isJournalIncomplete || salvaged.isIncomplete || salvaged.rootWasLost
      || recovery.report.loss != nil
    catalogCheck = CatalogCheck(catalog, segmentSize: files.segmentSize)
    self.files = files
    self.catalog = catalog
    self.recovery = recovery
    self.salvaged = salvaged
    self.journalCheck = journalCheck
    self.progress = progress
  }

  /// A password that opens a slot of this store opens a space of it, however damaged; a recovery key
  /// may be of another store. Its segments tell.
  private static func requireSegments(_ listing: SegmentListing) throws(StoreError) {
    for kind in [SegmentKind.data, .checkpoint] {
      if !listing.numbers(of: kind).isEmpty { return }
    }
    throw StoreError(
      .missing,
      "the store holds nothing of this space: the copy is incomplete, or the recovery key is of "
        + "another store; restore the folder segments from a backup", path: SegmentPath.root)
  }

  /// Opens the records.
  mutating func run() throws(StoreError) {
    let numbers = Set(recovery.listing.numbers(of: .data))
    if !isJournalIncomplete { strays = try finishedStrays(numbers) }
    let pass = RecordPass(
      files: files, uses: catalog.recordUses(), walked: isJournalIncomplete ? numbers : strays,
      progress: progress)
    guard let found = try pass.run() else {
      isComplete = false
      return
    }
    segments = found
    if isJournalIncomplete || !strays.isEmpty {
      loose = LooseContent(
        found, catalog, leftOut: catalog.newestLeftOut(), known: greatestKnownInode,
        gone: salvaged.gone,
        until: hasNewLoss ? nil : recovery.report.loss)
    }
  }

  /// No inode up to this number is one that only the lost part of the journal told of.
  private var greatestKnownInode: UInt64 {
    if salvaged.isIncomplete || salvaged.rootWasLost || !isJournalIncomplete { return 0 }
    let first = [recovery.report.firstLostInode, recovery.report.loss?.firstInode]
    return (first.compactMap(\.self).min() ?? catalog.greatestInode + 1) - 1
  }

  /// A part of the journal is missing of which the journal itself does not say so.
  private var hasNewLoss: Bool {
    salvaged.isIncomplete || salvaged.rootWasLost || recovery.report.firstLostInode != nil
  }

  /// What the end of a journal told of that went missing some sessions ago: nothing else leaves
  /// segments of earlier sessions that were finished and that no frame names.
  private borrowing func finishedStrays(_ numbers: Set<SegmentNumber>) throws(StoreError)
    -> Set<SegmentNumber>
  {
    var strays: Set<SegmentNumber> = []
    for number in numbers where catalog.segments.accounts[number] == nil {
      let id = SegmentID(kind: .data, number: number)
      if try files.seal(of: id)?.reason == .endOfSession { strays.insert(number) }
    }
    return strays
  }
}
