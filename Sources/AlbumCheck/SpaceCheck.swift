package import AlbumFormat
import AlbumModel
package import AlbumSecrets
package import AlbumStore

/// The options of a check.
package struct CheckOptions: Sendable {
  /// True to make the space consistent. Otherwise the check changes nothing in the store.
  package var repairs = false
  /// The owner and group of the root if nothing in the store records them.
  package var owner: UInt32 = 0
  package var group: UInt32 = 0
  /// Returns the extension for a file whose name is lost, from its first bytes (512 at most); nil for none.
  package var fileEnding: (@Sendable ([UInt8]) -> String?)?
  /// The machine's run during this check.
  package var boot = BootIdentity.current
  package init() {}
}

/// The progress of a check.
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

/// Checks a space: decrypts every record that its catalog refers to, and examines the catalog for
/// contradictions. Continues where a mount would be refused. Names albums and photos in its findings.
///
/// 1. It rebuilds the catalog as a mount does, or gathers what is left of it (`SalvagedSpace`).
/// 2. It audits the catalog: names, links, extents, thumbnails, counters (`CatalogAudit`).
/// 3. It decrypts every record that extents refer to, once, segment by segment.
/// 4. If a part of the journal is missing, it also decrypts all other records of the space. They show which
///    files the lost part was about (`LooseContent`).
package enum SpaceCheck {
  /// Takes the space's lock. Any thread may call it. The check calls `progress` now and then from threads of
  /// its own, and stops if it returns false. Throws `.inUse` if the space is mounted, `.missing` if the store
  /// holds nothing of this space, `.unsupportedFeature`, and errors of the disk.
  package static func run(
    _ store: Store, keys: SpaceKeys, options: CheckOptions = CheckOptions(),
    progress: @escaping @Sendable (CheckProgress) -> Bool = { _ in true }
  ) throws(StoreError) -> CheckReport {
    let lock = try SpaceLock.take(store: store, keys: keys, readOnly: !options.repairs)
    defer { lock.release() }
    let sent = options.repairs ? try SalvagedSpace.beginStaging(store, keys: keys) : []
    _ = progress(CheckProgress(step: .catalog))
    let examination = try Examination(
      try SalvagedSpace(store, keys: keys, boot: options.boot), sentNow: sent, progress: progress)
    var report = examination.report(store)
    if options.repairs, report.isComplete, report.wantsRepair || examination.hasLooseContent {
      _ = progress(CheckProgress(step: .repair))
      report.repairs = try examination.repair(options)
    }
    if options.repairs, report.isComplete { SalvagedSpace.endStaging(store) }
    return report
  }
}

/// One examination of a space, and all findings.
struct Examination {
  let space: SalvagedSpace
  let segments: [SegmentFindings]
  private(set) var loose: LooseContent?
  /// The timeline of sessions of this machine that others overtook before these had sent everything, and the
  /// files that only it has.
  let late: (timeline: SalvagedSpace, files: [OtherFile])?
  private let sentNow: Set<SegmentBirth>
  /// False if `progress` stopped it.
  let isComplete: Bool

  /// Decrypts the records. The caller holds the space's lock. `sentNow`: sessions of this machine whose
  /// segments have just come to where the store lies.
  init(
    _ space: SalvagedSpace, sentNow: Set<SegmentBirth> = [],
    progress: @escaping @Sendable (CheckProgress) -> Bool
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
    // A fork that the journals still show is found by `otherTimeline`.
    let timeline = space.report.mayBeMixed ? nil : try space.timeline(ofSent: sentNow)
    late = timeline.map { ($0, space.files(of: $0)) }
    self.sentNow = sentNow
    self.space = space
  }

  /// True if there is content that the catalog does not refer to and a repair can restore.
  var hasLooseContent: Bool { !(loose?.isEmpty ?? true) }

  /// The greatest inode number that the lost part of the journal cannot have assigned.
  private static func greatestKnownInode(_ space: SalvagedSpace) -> UInt64 {
    if space.losses.isIncomplete || space.losses.rootWasLost || !space.isJournalIncomplete {
      return 0
    }
    let first = [space.report.firstLostInode, space.report.loss?.firstInode]
    return (first.compactMap(\.self).min() ?? space.catalog.greatestInode + 1) - 1
  }

  /// True if a part of the journal is missing and the journal does not record that yet.
  private static func hasNewLoss(_ space: SalvagedSpace) -> Bool {
    space.losses.isIncomplete || space.losses.rootWasLost || space.report.firstLostInode != nil
  }

  // MARK: Repair

  /// Makes the space consistent and returns the changes. The caller holds the space's lock. Throws
  /// `.inputOutput` if the disk returned a read error.
  func repair(_ options: CheckOptions) throws(StoreError) -> [CheckRepair] {
    try requireReadableDisk()
    let time = Timestamp.now
    var plan = RepairPlan(self, time: time)
    let terms = SalvagedSpace.RepairTerms(
      segments,
      mayReuseNumbers: space.isJournalIncomplete || hasLooseContent || space.report.mayBeMixed
        || space.audit.problems.contains(where: \.isCounter),
      owner: options.owner, group: options.group, time: time)
    let fork = late == nil ? try space.otherTimeline() : nil
    let other = late?.timeline ?? fork
    let others = late?.files ?? other.map { space.files(of: $0) } ?? []
    try space.repair(terms) { space throws(StoreError) in
      plan.endings = endings(of: plan, space, options.fileEnding)
      space.change { catalog in
        plan.apply(to: &catalog)
        catalog.clearLoss()
      }
      for file in others {
        let number = space.change { $0.takeInodeNumber() }
        guard var held = try other?.copyContent(of: file, into: space, as: number) else { continue }
        let extents = held.take()
        space.change { plan.adopt(file, as: number, extents, &$0) }
      }
      if late != nil { space.change { self.space.giveUpSegments(of: sentNow, &$0) } }
    }
    return plan.done + [.catalogWritten]
  }

  /// Throws if the disk returned a read error: it may read the same bytes tomorrow, or a copy may have them.
  private func requireReadableDisk() throws(StoreError) {
    guard let path = space.unreadable.first?.path else { return }
    throw StoreError(
      .inputOutput,
      "the disk returns errors for \(path), so nothing was repaired; copy the store to a good disk "
        + "(ddrescue reads around errors) and repair it there", path: path)
  }
}

/// Returns the extensions for files without a name.
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
