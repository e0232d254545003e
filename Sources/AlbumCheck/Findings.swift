import AlbumFormat
import AlbumModel
import AlbumStore

// Makes findings of an examination.

extension Examination {
  private var recovered: RecoveryReport { space.report }

  /// Returns all findings. Those without a path come first, the others are sorted by path.
  func report(_ store: Store) -> CheckReport {
    var report = CheckReport()
    report.recovery = recovered
    report.isComplete = isComplete
    report.totals.files = space.audit.fileCount
    report.totals.directories = space.audit.directoryCount
    report.totals.records = segments.reduce(0) { $0 + $1.recordCount }
    report.totals.bytes = segments.reduce(0) { $0 + $1.byteCount }
    report.totals.segments = segments.count + space.journal.segmentCount
    let paths = CatalogPaths(space.catalog, of: affectedInodes)
    report.findings =
      store.warnings.map { CheckFinding($0.isDamage ? .damage : .note, .store, .ofStore($0)) }
    report.findings += StoreFiles(store, space).findings
    report.findings += journalFindings() + catalogFindings() + segmentFindings()
    report.findings += timelineFindings() + lateFindings() + leftOutFindings() + lossFindings()
    let named =
      incompleteFindings() + contentFindings(paths) + looseFindings(paths) + problemFindings(paths)
    report.findings += named.sorted { ($0.path ?? "") < ($1.path ?? "") }
    if recovered.isJournalLackedAsCopy {
      report.findings = report.findings.map(Examination.asOfCopy)
    }
    return report
  }

  /// Returns the finding as a note if it follows from a part of the journal that was not written yet when the
  /// store was copied.
  private static func asOfCopy(_ finding: CheckFinding) -> CheckFinding {
    let kinds: [CheckFinding.Kind] = [
      .lostChanges, .lostFile, .lostEntry, .orphan, .linkCount, .album,
    ]
    let isLost =
      finding.kind == .unreadableContent && finding.segments.isEmpty
      || finding.detail == .thumbnailGone
    if !kinds.contains(finding.kind), !isLost { return finding }
    var note = finding
    note.severity = .note
    return note
  }

  private var affectedInodes: Set<InodeNumber> {
    var inodes = Set(segments.flatMap { $0.damaged.map(\.inode) })
    if let loose { inodes.formUnion(loose.newer.keys) }
    inodes.formUnion(space.audit.problems.compactMap(\.inode))
    inodes.formUnion(space.losses.lost.lostEntries.map(\.directory))
    return inodes
  }

  // MARK: Of the space

  private func ofJournal(
    _ severity: CheckFinding.Severity, _ segment: SegmentNumber, _ detail: CheckFinding.Detail,
    _ kind: CheckFinding.Kind = .journal
  ) -> CheckFinding {
    CheckFinding(severity, kind, segments: [space.path(.journal, segment)], detail)
  }

  private func journalFindings() -> [CheckFinding] {
    let journal = space.journal
    let absence: CheckFinding.Severity = recovered.mayLackJournalAsCopy ? .note : .damage
    var findings = journal.missingFrames.map { segment, count, isDamage in
      ofJournal(
        isDamage ? .damage : absence, segment,
        .framesMissing(count, isSpare: recovered.damagedFrames == 0))
    }
    findings += journal.headless.map { ofJournal(.damage, $0, .bothHeadsDamaged) }
    findings += journal.singleHeads.map { ofJournal(.damage, $0, .oneHeadDamaged) }
    findings += journal.missingSegments.map {
      ofJournal(absence, $0, .journalSegmentMissing, .segmentMissing)
    }
    if recovered.isCutShort, let newest = space.losses.newestJournal {
      findings.append(ofJournal(.damage, newest, .journalCutShort))
    }
    switch recovered.end {
    case .complete, .contentMayHaveMoved: break
    case .noSuccessor: findings.append(CheckFinding(.note, .journal, .journalLacksEnd))
    case .missing: findings.append(CheckFinding(.damage, .journal, .journalEndMissing))
    }
    return findings
  }

  private func catalogFindings() -> [CheckFinding] {
    let losses = space.losses
    let isOtherUsed = losses.damagedCheckpoints.count < losses.checkpoints.count
    var findings = losses.damagedCheckpoints.map { reference, isUnfinished in
      CheckFinding(
        recovered.mayLackJournalAsCopy && isUnfinished ? .note : .damage, .checkpoint,
        segments: checkpointPaths(reference),
        .checkpointDamaged(otherIsUsed: isOtherUsed))
    }
    if losses.hasNoJournal {
      findings.append(CheckFinding(.damage, .catalog, .journalGone))
    } else if losses.isIncomplete || losses.rootWasLost {
      findings.append(CheckFinding(.damage, .catalog, .catalogIncomplete))
    }
    return findings
  }

  private func checkpointPaths(_ reference: CheckpointReference) -> [String] {
    (0..<reference.segmentCount).map { step in
      space.path(.checkpoint, SegmentNumber(reference.firstSegment.rawValue + step))
    }
  }

  private func segmentFindings() -> [CheckFinding] {
    let unreadable = space.unreadable.compactMap(\.path).map {
      CheckFinding(.damage, .store, segments: [$0], .diskCannotRead)
    }
    return unreadable
      + segments.compactMap { segment -> CheckFinding? in
        let path = space.path(.data, segment.segment)
        if segment.hasReadErrors { return nil }
        let ends = endsOfCopy
        let costs = segment.damaged.contains { !ends.contains($0.inode) && !isLeftOut($0.inode) }
        let severity: CheckFinding.Severity = costs ? .damage : .note
        switch segment.state {
        case .whole: return nil
        case .missing where segment.damaged.isEmpty: return nil
        case .missing:
          return CheckFinding(severity, .segmentMissing, segments: [path], .segmentMissing)
        case .short(let count):
          return CheckFinding(
            severity, .segmentShort, segments: [path],
            .segmentShort(left: count, of: space.segmentSize))
        }
      }
  }

  private func timelineFindings() -> [CheckFinding] {
    let (unknown, foreign) = (recovered.unknownSegments, recovered.foreignJournals)
    if recovered.mayBeMixed {
      let journals = recovered.isMixed ? foreign : recovered.divergedJournals
      let mixture = CheckFinding(
        .damage, .timeline, segments: journals.map(SegmentPath.path).sorted(),
        recovered.isMixed ? .otherTimeline : .divergedTimeline)
      return [mixture]
        + recovered.otherFiles.map { path in
          CheckFinding(
            .damage, .timeline, path: path, since: recovered.otherSince, .otherChanges)
        }
    }
    if unknown.isEmpty || space.isJournalIncomplete || hasLooseContent { return [] }
    return [
      CheckFinding(
        .note, .timeline, segments: unknown.map(SegmentPath.path).sorted(),
        .unknownSegments(unknown.count))
    ]
  }

  private func lateFindings() -> [CheckFinding] {
    guard let late else { return [] }
    return late.files.map { file in
      CheckFinding(
        .damage, .timeline, path: file.path, since: late.timeline.changedSince, .otherChanges)
    }
  }

  /// A note if an earlier mount found a part of the journal missing, and nothing shows what it held.
  private func lossFindings() -> [CheckFinding] {
    if recovered.loss == nil || recovered.isJournalIncomplete || hasLooseContent { return [] }
    return [CheckFinding(.note, .leftOut, .lossUnrepaired)]
  }

  /// The versions that mounts have left out and that the space keeps.
  private func leftOutFindings() -> [CheckFinding] {
    let count = recovered.leftOutFiles
    if count == 0 { return [] }
    let named = Set(recovered.incompleteFiles.compactMap(\.path))
    let others = recovered.leftOutPaths.filter { !named.contains($0.key) }
    let files = others.sorted { $0.key < $1.key }.map { path, note in
      CheckFinding(
        note.isDamage ? .damage : .note, .leftOut, path: path, since: note.since, .leftOut)
    }
    return files + [CheckFinding(.note, .leftOut, .leftOutVersions(count))]
  }

  // MARK: Of files

  /// Files that do not show their newest version.
  private func incompleteFindings() -> [CheckFinding] {
    let cut = recovered.cutFiles.map { path in
      CheckFinding(
        .note, .formerContent, path: path, since: recovered.cutSince, .changesCut)
    }
    let thumbnails = recovered.remadeThumbnails.map { thumbnail in
      CheckFinding(
        thumbnail.isEndOfCopy ? .note : .damage, .thumbnail, path: thumbnail.photo,
        inode: thumbnail.inode.rawValue, .thumbnailRemade)
    }
    // The catalog's audit names those without a name.
    let shown = recovered.incompleteFiles.filter {
      $0.outcome != .unreadable && $0.outcome != .withoutName
    }
    let files = shown.map { file in
      CheckFinding(
        file.isEndOfCopy ? .note : .damage, .formerContent, path: file.path,
        inode: file.inode.rawValue, since: file.since,
        file.outcome == .formerContent ? .shownAsBefore : .newFileLeftOut)
    }
    return cut + thumbnails + files
  }

  /// Files whose missing content was not written yet when the store was copied.
  private var endsOfCopy: Set<InodeNumber> {
    Set(recovered.incompleteFiles.filter(\.isEndOfCopy).map(\.inode))
  }

  private func marks(of inode: InodeNumber) -> InodeState.Marks {
    space.catalog.index(of: inode).map { space.catalog.state($0).marks } ?? []
  }

  private func isLeftOut(_ inode: InodeNumber) -> Bool { marks(of: inode).contains(.leftOut) }

  private func contentFindings(_ paths: CatalogPaths) -> [CheckFinding] {
    var unreadable: [InodeNumber: (ranges: [Range<Int64>], segments: Set<SegmentNumber>)] = [:]
    for segment in segments {
      for stretch in segment.damaged where !isLeftOut(stretch.inode) {
        unreadable[stretch.inode, default: ([], [])].ranges.append(stretch.range)
        unreadable[stretch.inode]?.segments.insert(segment.segment)
      }
    }
    let missing = Set(segments.filter { $0.state == .missing }.map(\.segment))
    let ends = endsOfCopy
    return unreadable.flatMap { inode, found in
      let isThumbnail = marks(of: inode).contains(.madeThumbnail)
      let gone = Set(found.segments.intersection(missing).map { space.path(.data, $0) })
      return findings(
        isThumbnail ? .unreadableThumbnail : .unreadableContent, inode, paths,
        .unreadable(isThumbnail: isThumbnail, missing: gone), found.ranges, found.segments,
        severity: ends.contains(inode) ? .note : .damage)
    }
  }

  /// One finding for each path.
  private func findings(
    _ kind: CheckFinding.Kind, _ inode: InodeNumber, _ paths: CatalogPaths,
    _ detail: CheckFinding.Detail, _ ranges: [Range<Int64>] = [],
    _ segments: Set<SegmentNumber> = [], severity: CheckFinding.Severity = .damage
  ) -> [CheckFinding] {
    var joined = ranges
    joined.joinNeighbours()
    let all = paths.all(inode)
    return (all.isEmpty ? ["(inode \(inode.rawValue))"] : all).map { path in
      CheckFinding(
        severity, kind, path: path, inode: inode.rawValue, ranges: joined,
        segments: segments.sorted().map { space.path(.data, $0) }, detail)
    }
  }

  /// Loose content is damage if a part of the journal is missing. Otherwise it is a note, because it may
  /// belong to files that were removed.
  private func looseFindings(_ paths: CatalogPaths) -> [CheckFinding] {
    guard let loose else { return [] }
    let severity: CheckFinding.Severity = space.isJournalIncomplete ? .damage : .note
    let newer = loose.newer.flatMap { inode, found in
      findings(
        .lostChanges, inode, paths, .newerContent, found.ranges,
        Set(found.pieces.map(\.loose.segment)), severity: severity)
    }
    let unknown = loose.unknown.flatMap { inode, pieces in
      findings(
        .lostFile, inode, paths, .nameLost(byteCount: LostFile(inode, pieces).size), [],
        Set(pieces.map(\.loose.segment)), severity: severity)
    }
    return newer + unknown
  }

  // MARK: Of the catalog

  private func problemFindings(_ paths: CatalogPaths) -> [CheckFinding] {
    let entries = space.losses.lost.lostEntries.map { entry in
      CheckFinding(
        .damage, .lostEntry, path: space.catalog.path(of: entry.name, in: entry.directory),
        .targetLost)
    }
    return entries + space.audit.problems.flatMap { findings(of: $0, paths) }
  }

  private func findings(of problem: CatalogProblem, _ paths: CatalogPaths) -> [CheckFinding] {
    func ofSegment(_ segment: SegmentNumber, _ detail: CheckFinding.Detail) -> [CheckFinding] {
      [CheckFinding(.damage, .ledger, segments: [space.path(.data, segment)], detail)]
    }
    switch problem {
    case .orphan(let inode) where isLeftOut(inode): return []
    case .orphan(let inode): return findings(.orphan, inode, paths, .orphan)
    case .secondName(let directory, let name, let child):
      return [
        CheckFinding(
          .damage, .names, path: space.catalog.path(of: name, in: directory),
          inode: child.rawValue, .secondName)
      ]
    case .linkCount(let inode, let stated, let names):
      return findings(.linkCount, inode, paths, .linkCount(stated: stated, names: names))
    case .extentOutside(let inode, let extent):
      return findings(
        .extents, inode, paths, .outsideSegments, [extent.offset..<extent.end], [extent.segment])
    case .contentLost(let inode, let range):
      return findings(.unreadableContent, inode, paths, .placeLost, [range])
    case .contentBeyondEnd(let inode, let from, let to):
      return findings(.extents, inode, paths, .beyondEnd, [from..<to], severity: .note)
    case .ledger(let segment, let stated, let found):
      return ofSegment(segment, .ledger(found: found, stated: stated))
    case .segmentInUse(let segment): return ofSegment(segment, .segmentInUse)
    case .albumPart(let inode): return findings(.album, inode, paths, .albumPart)
    case .thumbnailGone(let photo): return findings(.thumbnail, photo, paths, .thumbnailGone)
    case .counter(let counter): return [CheckFinding(.damage, .counters, .counter(counter))]
    }
  }
}

extension CatalogProblem {
  /// The affected inode, if there is one.
  fileprivate var inode: InodeNumber? {
    switch self {
    case .orphan(let inode), .linkCount(let inode, _, _), .extentOutside(let inode, _),
      .contentLost(let inode, _), .contentBeyondEnd(let inode, _, _), .albumPart(let inode),
      .thumbnailGone(let inode):
      inode
    case .secondName, .ledger, .segmentInUse, .counter: nil
    }
  }
}
