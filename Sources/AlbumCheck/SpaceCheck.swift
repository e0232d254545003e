import AlbumFormat
import AlbumModel
package import AlbumSecrets
package import AlbumStore

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

/// How far a check is.
package struct CheckProgress: Sendable, Equatable {
  package enum Step: Sendable, Equatable { case catalog, records, repair }
  package var step: Step
  /// Bytes of segments, of `totalBytes`.
  package var doneBytes: Int64
  package var totalBytes: Int64

  package init(step: Step, doneBytes: Int64 = 0, totalBytes: Int64 = 0) {
    self.step = step
    self.doneBytes = doneBytes
    self.totalBytes = totalBytes
  }
}

/// Checks a space: opens every record that its catalog refers to, and holds the catalog against
/// itself. Does not give up where a mount is refused; what it finds it reports by album and photo.
///
/// 1. The catalog is brought back as at a mount, or gathered from what is left (`SalvagedSpace`).
/// 2. It is checked for itself: names, links, extents, thumbnails, counters (`CatalogAudit`).
/// 3. Every record that extents point to is opened, once, segment by segment.
/// 4. Where a part of the journal is missing, all other records of the space are looked at, too: they
///    tell which files the lost part was about (`LooseContent`).
package enum SpaceCheck {
  /// Takes the space's lock; any thread. `progress` is called now and then, from threads of the
  /// check's own, and returns whether to go on. Throws `.inUse` where the space is mounted,
  /// `.missing` where the store holds nothing that these keys open, `.unsupportedFeature`, and what
  /// the disk answers.
  package static func run(
    _ store: Store, keys: SpaceKeys, options: CheckOptions = CheckOptions(),
    progress: @escaping @Sendable (CheckProgress) -> Bool = { _ in true }
  ) throws(StoreError) -> CheckReport {
    let lock = try SpaceLock.take(store: store, keys: keys, readOnly: !options.repairs)
    defer { lock.release() }
    _ = progress(CheckProgress(step: .catalog))
    let examination = try Examination(try SalvagedSpace(store, keys: keys), progress: progress)
    var report = examination.report(store)
    if options.repairs, report.isComplete, report.wantsRepair || examination.hasLooseContent {
      _ = progress(CheckProgress(step: .repair))
      report.repairs = try examination.repair(options)
    }
    return report
  }
}

/// One look at a space, and all that was found.
struct Examination: ~Copyable {
  let space: SalvagedSpace
  let segments: [SegmentFindings]
  private(set) var loose: LooseContent?
  /// False where it was stopped.
  let isComplete: Bool

  /// Opens the records. The caller holds the space's lock.
  init(
    _ space: consuming SalvagedSpace, progress: @escaping @Sendable (CheckProgress) -> Bool
  ) throws(StoreError) {
    let isIncomplete = space.isJournalIncomplete
    let walked = isIncomplete ? space.dataSegments : try space.finishedStrays()
    let found = try space.readRecords(walking: walked) { done, total in
      progress(CheckProgress(step: .records, doneBytes: done, totalBytes: total))
    }
    if let found, isIncomplete || !walked.isEmpty {
      loose = LooseContent(
        found, space.catalog, leftOut: space.catalog.newestLeftOut(),
        known: Examination.greatestKnownInode(space), gone: space.losses.gone,
        until: Examination.hasNewLoss(space) ? nil : space.report.loss)
    }
    isComplete = found != nil
    segments = found ?? []
    self.space = space
  }

  /// Whether there is content to bring back that the catalog does not know of.
  var hasLooseContent: Bool { !(loose?.isEmpty ?? true) }

  /// No inode up to this number is one that only the lost part of the journal told of.
  private static func greatestKnownInode(_ space: borrowing SalvagedSpace) -> UInt64 {
    if space.losses.isIncomplete || space.losses.rootWasLost || !space.isJournalIncomplete {
      return 0
    }
    let first = [space.report.firstLostInode, space.report.loss?.firstInode]
    return (first.compactMap(\.self).min() ?? space.catalog.greatestInode + 1) - 1
  }

  /// A part of the journal is missing of which the journal itself does not say so.
  private static func hasNewLoss(_ space: borrowing SalvagedSpace) -> Bool {
    space.losses.isIncomplete || space.losses.rootWasLost || space.report.firstLostInode != nil
  }

  // MARK: Repair

  /// Makes the space consistent; the caller holds its lock. Returns what was done. Throws
  /// `.inputOutput` where the disk cannot read what might be readable elsewhere.
  consuming func repair(_ options: CheckOptions) throws(StoreError) -> [CheckRepair] {
    try requireReadableDisk()
    let time = Timestamp.now
    var plan = RepairPlan(self, time: time)
    let terms = SalvagedSpace.RepairTerms(
      segments,
      mayReuseNumbers: space.isJournalIncomplete || hasLooseContent || space.report.isMixed
        || space.audit.problems.contains(where: \.isCounter),
      owner: options.owner, group: options.group, time: time)
    try space.repair(terms) { space throws(StoreError) in
      plan.endings = endings(of: plan, space, options.fileEnding)
      space.change { catalog in
        plan.apply(to: &catalog)
        catalog.settleLoss()
      }
    }
    return plan.done + [.catalogWritten]
  }

  /// A stretch that the disk cannot read today may be read tomorrow, or from a copy.
  private borrowing func requireReadableDisk() throws(StoreError) {
    guard let path = space.unreadable.first?.path else { return }
    throw StoreError(
      .inputOutput,
      "the disk answers errors for \(path): nothing was repaired; copy the store to a disk that is "
        + "well (ddrescue reads around errors) and repair it there", path: path)
  }
}

/// What the names of nameless files end with.
private func endings(
  of plan: RepairPlan, _ space: Space, _ ending: (@Sendable ([UInt8]) -> String?)?
) -> [InodeNumber: String] {
  var endings: [InodeNumber: String] = [:]
  guard let ending else { return endings }
  for file in space.read({ plan.nameless($0) }) {
    guard let first = file.extents.first, first.offset == 0,
      let head = try? space.content(of: first)
    else { continue }
    endings[file.inode] = ending(head)
  }
  return endings
}

extension CatalogProblem {
  fileprivate var isCounter: Bool { if case .counter = self { true } else { false } }
}
