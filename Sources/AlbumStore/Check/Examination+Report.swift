import AlbumFormat
import AlbumModel

// What was found, as what a person is told.

extension Examination {
  /// Everything that was found, by path; what has none comes first.
  func report(_ store: Store) -> CheckReport {
    var report = CheckReport()
    report.recovery = recovery.report
    report.isComplete = isComplete
    report.totals.files = catalogCheck.fileCount
    report.totals.directories = catalogCheck.directoryCount
    report.totals.records = segments.reduce(0) { $0 + $1.recordCount }
    report.totals.bytes = segments.reduce(0) { $0 + $1.byteCount }
    report.totals.segments = segments.count + journalCheck.segmentCount
    let paths = CatalogPaths(catalog, of: affectedInodes)
    report.findings =
      store.warnings.map { CheckFinding(.damage, .store, $0) }
      + store.advice.map { CheckFinding(.note, .store, $0) }
    report.findings += StoreFiles(files, recovery.listing).findings
    report.findings += journalFindings() + catalogFindings() + segmentFindings()
    report.findings += timelineFindings() + leftOutFindings() + lossFindings()
    let named =
      incompleteFindings() + contentFindings(paths) + looseFindings(paths) + problemFindings(paths)
    report.findings += named.sorted { ($0.path ?? "") < ($1.path ?? "") }
    if recovery.report.isJournalLackedAsCopy {
      report.findings = report.findings.map(Examination.asOfCopy)
    }
    return report
  }

  /// What is missing of the journal was not there yet when the store was copied, and so what it tells of.
  private static func asOfCopy(_ finding: CheckFinding) -> CheckFinding {
    let kinds: [CheckFinding.Kind] = [.lostChanges, .lostFile, .lostEntry, .orphan]
    let isLost = finding.kind == .unreadableContent && finding.segments.isEmpty
    if !kinds.contains(finding.kind), !isLost { return finding }
    var note = finding
    note.severity = .note
    return note
  }

  private var affectedInodes: Set<InodeNumber> {
    var inodes = Set(segments.flatMap { $0.damaged.map(\.inode) })
    if let loose { inodes.formUnion(loose.newer.keys) }
    inodes.formUnion(catalogCheck.problems.compactMap(\.inode))
    inodes.formUnion(salvaged.lost.lostEntries.map(\.directory))
    return inodes
  }

  // MARK: Of the space

  private func journalFindings() -> [CheckFinding] {
    var findings: [CheckFinding] = []
    let absence: CheckFinding.Severity = recovery.report.mayLackJournalAsCopy ? .note : .damage
    for (segment, count, isDamage) in journalCheck.missingFrames {
      findings.append(
        CheckFinding(
          isDamage ? .damage : absence, .journal,
          segments: [files.path(SegmentID(kind: .journal, number: segment))],
          "\(frames(count)) of the journal cannot be read (\(named(.journal, segment)) is damaged)"
            + (recovery.report.damagedFrames == 0 ? ": a spare that is not needed now" : "")))
    }
    for segment in journalCheck.headless {
      findings.append(
        CheckFinding(
          .damage, .journal, segments: [files.path(SegmentID(kind: .journal, number: segment))],
          "both heads of \(named(.journal, segment)), a journal segment, are damaged"))
    }
    for segment in journalCheck.singleHeads {
      findings.append(
        CheckFinding(
          .damage, .journal, segments: [files.path(SegmentID(kind: .journal, number: segment))],
          "one of the two heads of \(named(.journal, segment)), a journal segment, is damaged"))
    }
    for segment in journalCheck.missingSegments {
      findings.append(
        CheckFinding(
          absence, .segmentMissing,
          segments: [files.path(SegmentID(kind: .journal, number: segment))],
          "\(named(.journal, segment)), a journal segment, is not there"))
    }
    if recovery.report.isCutShort, let newest = salvaged.chain.last?.number {
      findings.append(
        CheckFinding(
          .damage, .journal, segments: [files.path(SegmentID(kind: .journal, number: newest))],
          "\(named(.journal, newest)), the newest of the journal, is cut short or holds zeros: its "
            + "last frames may be missing"))
    }
    if recovery.report.lacksEnd {
      findings.append(
        CheckFinding(
          .note, .journal,
          "the newest part of the journal is not in the store: it was begun while the store was copied, or "
            + "it was lost"))
    }
    if recovery.report.isEndMissing {
      findings.append(
        CheckFinding(
          .damage, .journal,
          "the end of the journal is missing: there are segments that were begun behind it"))
    }
    return findings
  }

  private func frames(_ count: Int) -> String { count == 1 ? "1 frame" : "\(count) frames" }

  /// `segment 3f9a…`
  private func named(_ kind: SegmentKind, _ number: SegmentNumber) -> String {
    "segment \(files.name(SegmentID(kind: kind, number: number)).text.prefix(8))…"
  }

  private func catalogFindings() -> [CheckFinding] {
    var findings = salvaged.damagedCheckpoints.map { reference in
      CheckFinding(
        recovery.report.mayLackJournalAsCopy && recovery.report.lacksCheckpoint ? .note : .damage,
        .checkpoint, segments: checkpointPaths(reference),
        "a checkpoint is damaged"
          + (salvaged.damagedCheckpoints.count < salvaged.checkpoints.count
            ? ": the other one is used" : ""))
    }
    if salvaged.hasNoJournal {
      findings.append(
        CheckFinding(.damage, .catalog, "no journal segment is left: names are lost"))
    } else if salvaged.isIncomplete || salvaged.rootWasLost {
      findings.append(
        CheckFinding(.damage, .catalog, "the catalog is lost in part: names are missing"))
    }
    return findings
  }

  private func checkpointPaths(_ reference: CheckpointReference) -> [String] {
    (0..<reference.segmentCount).map { step in
      let number = SegmentNumber(reference.firstSegment.rawValue + step)
      return files.path(SegmentID(kind: .checkpoint, number: number))
    }
  }

  private func segmentFindings() -> [CheckFinding] {
    segments.compactMap { segment -> CheckFinding? in
      let path = files.path(SegmentID(kind: .data, number: segment.segment))
      let name = named(.data, segment.segment)
      if segment.hasReadErrors {
        return CheckFinding(
          .damage, .store, segments: [path], "the disk cannot read all of \(name)")
      }
      let ends = endsOfCopy
      let costs = segment.damaged.contains { !ends.contains($0.inode) && !isLeftOut($0.inode) }
      switch segment.state {
      case .whole: return nil
      case .missing where segment.damaged.isEmpty: return nil
      case .missing:
        return CheckFinding(
          costs ? .damage : .note, .segmentMissing, segments: [path], "\(name) is not there")
      case .short(let count):
        return CheckFinding(
          costs ? .damage : .note, .segmentShort, segments: [path],
          "\(name) is cut short: \(count) bytes are left of \(files.segmentSize)")
      }
    }
  }

  private func timelineFindings() -> [CheckFinding] {
    let unknown = recovery.report.unknownSegments
    if recovery.report.foreignJournals.isEmpty {
      if unknown.isEmpty || isJournalIncomplete || hasLooseContent { return [] }
      let what =
        unknown.count == 1
        ? "1 segment of this space is" : "\(unknown.count) segments of this space are"
      return [
        CheckFinding(
          .note, .timeline, segments: unknown.map(SegmentPath.path),
          "\(what) in the store that its journal does not tell of: of another copy of "
            + "the store, or of a part of the journal that is not there; they are left alone")
      ]
    }
    return [
      CheckFinding(
        .damage, .timeline, segments: recovery.report.foreignJournals.map(SegmentPath.path),
        "the store holds segments of another copy of it, which was written to: nothing of either is "
          + "removed; to make this store a copy again, run rsync once with --delete; --repair makes a store "
          + "of what was written to last, and leaves the rest where it is")
    ]
  }

  /// What an earlier mount found missing of the journal, where nothing is left to tell what it was.
  private func lossFindings() -> [CheckFinding] {
    if recovery.report.loss == nil || recovery.report.isJournalIncomplete || hasLooseContent {
      return []
    }
    return [
      CheckFinding(
        .note, .leftOut,
        "a part of the journal was missing at an earlier mount, and nothing of what it told of was found; "
          + "nothing is removed from the store until --repair has settled that")
    ]
  }

  /// What mounts have left out is kept.
  private func leftOutFindings() -> [CheckFinding] {
    let count = recovery.report.leftOutFiles
    if count == 0 { return [] }
    let named = Set(recovery.report.incompleteFiles.compactMap(\.path))
    let others = recovery.report.leftOutPaths.filter { !named.contains($0.key) }
    let files = others.sorted { $0.key < $1.key }.map { path, isDamage in
      CheckFinding(
        isDamage ? .damage : .note, .leftOut, path: path,
        "an earlier mount left out what was written to it last; --repair brings it back")
    }
    return files + [
      CheckFinding(
        .note, .leftOut,
        "\(count == 1 ? "1 version of a file is" : "\(count) versions of files are") kept that a mount left "
          + "out, since content was missing; --repair brings back what can be read")
    ]
  }

  // MARK: Of files

  /// Files that are not shown as they were last.
  private func incompleteFindings() -> [CheckFinding] {
    let cut = recovery.report.cutFiles.map { path in
      CheckFinding(
        .note, .formerContent, path: path,
        "changes of the last seconds before a crash are left out")
    }
    let thumbnails = recovery.report.remadeThumbnails.map { thumbnail in
      CheckFinding(
        thumbnail.isEndOfCopy ? .note : .damage, .thumbnail, path: thumbnail.photo,
        inode: thumbnail.inode.rawValue, "its thumbnail is not in the store, and is made again")
    }
    return cut + thumbnails
      + recovery.report.incompleteFiles.compactMap { file in
        let meaning: String
        switch file.outcome {
        case .unreadable: return nil
        case .formerContent:
          meaning = "shown as it was before: what was written last is not in the store"
        case .leftOut:
          meaning = "left out, or shown as it was before it was replaced: the new file is not whole"
        }
        return CheckFinding(
          file.isEndOfCopy ? .note : .damage, .formerContent, path: file.path,
          inode: file.inode.rawValue, meaning)
      }
  }

  /// Files of which something is missing that was not in the store yet when it was copied.
  private var endsOfCopy: Set<InodeNumber> {
    Set(recovery.report.incompleteFiles.filter(\.isEndOfCopy).map(\.inode))
  }

  private func isLeftOut(_ inode: InodeNumber) -> Bool {
    catalog.index(of: inode).map { catalog.state($0).marks.contains(.leftOut) } ?? false
  }

  private func contentFindings(_ paths: CatalogPaths) -> [CheckFinding] {
    var unreadable: [InodeNumber: (ranges: [Range<Int64>], segments: Set<SegmentNumber>)] = [:]
    for segment in segments {
      for stretch in segment.damaged where !isLeftOut(stretch.inode) {
        unreadable[stretch.inode, default: ([], [])].ranges.append(stretch.range)
        unreadable[stretch.inode]?.segments.insert(segment.segment)
      }
    }
    return unreadable.flatMap { unreadableFindings($0, $1.ranges, $1.segments, paths) }
  }

  private func unreadableFindings(
    _ inode: InodeNumber, _ ranges: [Range<Int64>], _ segments: Set<SegmentNumber>,
    _ paths: CatalogPaths
  ) -> [CheckFinding] {
    let isThumbnail =
      catalog.index(of: inode).map { catalog.state($0).marks.contains(.madeThumbnail) } ?? false
    let states = Dictionary(self.segments.map { ($0.segment, $0.state) }) { one, _ in one }
    let causes = segments.sorted().map { segment in
      "\(named(.data, segment)) is \(states[segment] == .missing ? "not there" : "damaged")"
    }
    return findings(
      isThumbnail ? .unreadableThumbnail : .unreadableContent, inode, paths, ranges, segments,
      severity: endsOfCopy.contains(inode) ? .note : .damage,
      meaning: (isThumbnail
        ? "its thumbnail cannot be read" : "\(self.ranges(ranges)) cannot be read")
        + " (\(causes.joined(separator: ", ")))")
  }

  /// One finding for each path.
  private func findings(
    _ kind: CheckFinding.Kind, _ inode: InodeNumber, _ paths: CatalogPaths,
    _ ranges: [Range<Int64>] = [], _ segments: Set<SegmentNumber> = [],
    severity: CheckFinding.Severity = .damage, meaning: String
  ) -> [CheckFinding] {
    var joined = ranges
    joined.joinNeighbours()
    let all = paths.all(inode)
    return (all.isEmpty ? ["(inode \(inode.rawValue))"] : all).map { path in
      CheckFinding(
        severity, kind, path: path, inode: inode.rawValue, ranges: joined,
        segments: segments.sorted().map { files.path(SegmentID(kind: .data, number: $0)) }, meaning)
    }
  }

  /// `bytes 0-65535, 131072-196607`
  private func ranges(_ ranges: [Range<Int64>]) -> String {
    var joined = ranges
    joined.joinNeighbours()
    let shown = joined.prefix(8).map { "\($0.lowerBound)-\($0.upperBound - 1)" }
    let rest = joined.count - shown.count
    return "bytes \(shown.joined(separator: ", "))"
      + (rest > 0 ? " and \(rest) more stretches" : "")
  }

  /// Whether there is content to bring back that the catalog does not know of.
  var hasLooseContent: Bool { !(loose?.isEmpty ?? true) }

  /// Damage where a part of the journal is seen to be missing. Else the store only holds more than the
  /// catalog knows: worth a note, since it may be of files that were removed.
  private func looseFindings(_ paths: CatalogPaths) -> [CheckFinding] {
    guard let loose else { return [] }
    let severity: CheckFinding.Severity = isJournalIncomplete ? .damage : .note
    let newer = loose.newer.flatMap { inode, found in
      findings(
        .lostChanges, inode, paths, found.ranges, Set(found.pieces.map(\.loose.segment)),
        severity: severity,
        meaning:
          "there is newer content of \(ranges(found.ranges)), which the journal that is lost told of"
      )
    }
    let unknown = loose.unknown.flatMap { inode, pieces in
      findings(
        .lostFile, inode, paths, [], Set(pieces.map(\.loose.segment)), severity: severity,
        meaning:
          "the name of this file is lost, its content (\(LostFile(inode, pieces).size) bytes) is not"
      )
    }
    return newer + unknown
  }

  // MARK: Of the catalog

  private func problemFindings(_ paths: CatalogPaths) -> [CheckFinding] {
    let entries = salvaged.lost.lostEntries.map { entry in
      let way = catalog.index(of: entry.directory).map { catalog.way(to: $0) } ?? DirectoryWay()
      return CheckFinding(
        .damage, .lostEntry, path: way.path(of: entry.name),
        "what this name led to is lost")
    }
    return entries + catalogCheck.problems.flatMap { findings(of: $0, paths) }
  }

  private func findings(of problem: CatalogProblem, _ paths: CatalogPaths) -> [CheckFinding] {
    switch problem {
    case .orphan(let inode) where isLeftOut(inode): return []
    case .orphan(let inode):
      return findings(.orphan, inode, paths, meaning: "no name leads to it")
    case .secondName(let directory, let name, let child):
      let way = catalog.index(of: directory).map { catalog.way(to: $0) } ?? DirectoryWay()
      return [
        CheckFinding(
          .damage, .names, path: way.path(of: name), inode: child.rawValue,
          "this directory has another name, too")
      ]
    case .linkCount(let inode, let stated, let names):
      return findings(
        .linkCount, inode, paths, meaning: "its link count is \(stated), but it has \(names)")
    case .extentOutside(let inode, let extent):
      return findings(
        .extents, inode, paths, [extent.offset..<extent.end], [extent.segment],
        meaning: "\(ranges([extent.offset..<extent.end])) lie outside of any segment")
    case .contentLost(let inode, let range):
      return findings(
        .unreadableContent, inode, paths, [range],
        meaning: "\(ranges([range])) cannot be read (the journal that told where they are is lost)")
    case .contentBeyondEnd(let inode, let from, let to):
      return findings(
        .extents, inode, paths, [from..<to], severity: .note,
        meaning: "there is content behind the end of the file")
    case .ledger(let segment, let stated, let found):
      return [
        CheckFinding(
          .damage, .ledger, segments: [files.path(SegmentID(kind: .data, number: segment))],
          "\(found) bytes of \(named(.data, segment)) are in use, \(stated) are counted")
      ]
    case .segmentInUse(let segment):
      return [
        CheckFinding(
          .damage, .ledger, segments: [files.path(SegmentID(kind: .data, number: segment))],
          "\(named(.data, segment)) is to be removed, and is in use")
      ]
    case .albumPart(let inode):
      return findings(
        .album, inode, paths, meaning: "it is marked as a part of an album, and is none")
    case .thumbnailGone(let photo):
      return findings(.thumbnail, photo, paths, meaning: "its thumbnail is not there")
    case .counter(let what):
      return [
        CheckFinding(
          .damage, .counters, "the next \(what) number is in use already")
      ]
    }
  }
}

extension CatalogProblem {
  /// Whom it is about.
  var inode: InodeNumber? {
    switch self {
    case .orphan(let inode), .linkCount(let inode, _, _), .extentOutside(let inode, _),
      .contentLost(let inode, _), .contentBeyondEnd(let inode, _, _), .albumPart(let inode),
      .thumbnailGone(let inode):
      inode
    case .secondName, .ledger, .segmentInUse, .counter: nil
    }
  }
}
