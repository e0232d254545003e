import AlbumFormat
import AlbumModel

// Finds the files that lack content, and replays recent history to find their earlier versions.

extension Recovery {
  /// Finds missing content among what frames of the last 15 minutes recorded. `recent` has the frames after
  /// `first`.
  mutating func missingContent(
    _ recent: inout RecentHistory, before first: FrameNumber, _ catalog: borrowing Catalog
  ) throws(StoreError) -> MissingContent {
    // A session that ended and whose segments all exist lacks nothing from before a checkpoint.
    var lacksFrames = false
    if !report.hasSessionEnded || lacksSegment(catalog), !omitted.contains(.wholeGrace) {
      lacksFrames = try recordWritten(before: first, &recent)
    }
    // A checkpoint may have content that a missing frame recorded. Then every file is examined.
    let written = lacksFrames ? catalog.files() : Array(recent.written.keys)
    return try MissingContent(
      in: written, catalog, listing, content: content, session: position.birth,
      sessionHasEnded: report.hasSessionEnded, endsInWriting: endsInWriting,
      lacksSuccessor: lacksSuccessor, omitting: omitted)
  }

  /// True if a segment with content of this catalog is missing.
  func lacksSegment(_ catalog: borrowing Catalog) -> Bool {
    catalog.segments.accounts.contains { number, account in
      account.live > 0 && !listing.contains(SegmentID(kind: .data, number: number), account.birth)
    }
  }

  /// Records the recent frames that a checkpoint covers. Returns true if some of them are missing.
  private mutating func recordWritten(before first: FrameNumber, _ recent: inout RecentHistory)
    throws(StoreError) -> Bool
  {
    var lacksFrames = false
    // The last frame before the segment that the loop examined last.
    var end: FrameNumber?
    for number in Set(journals.all.map(\.number)).sorted(by: >) {
      let scan = try scan(number)
      lacksFrames = lacksFrames || scan.lacksFrames(upTo: end ?? .none)
      end = scan.head?.cutFrame ?? end
      scan.forEachStatement(upTo: first) { items, time in
        if recent.reaches(time) { recent.recordWritten(items, at: time) }
      }
      if let head = scan.head, !recent.reaches(head.time) { break }
    }
    return lacksFrames
  }

  /// Replays the last 15 minutes again, from the newest whole checkpoint before them, and decides how each
  /// file that lacks content is shown.
  mutating func fallback(
    for missing: MissingContent, _ chain: [JournalLink], floor: StoreTime,
    _ catalog: borrowing Catalog
  ) throws(StoreError) -> FileFallback {
    var wanted = missing.files
    while true {
      var older = Catalog()
      let empty = RecentHistory(floor: floor, wanted: wanted)
      var recent = try replayHistory(chain, empty, &older)
      if older.gap != nil {
        recent.recordUntouched(older)
        var start = Catalog()
        _ = try historyStart(try whole(chain), floor: .distantFuture, into: &start)
        recent.recordReplacements(between: older, and: start, upTo: catalog)
        // A checkpoint after the gap contains what the lost frames recorded.
        recent.add(try replayHistory(chain, empty, &older, newestFirst: true))
      }
      let fallback = try FileFallback(missing, recent, catalog, content: content, omitted)
      if fallback.wanted.isSubset(of: wanted) { return fallback }
      wanted.formUnion(fallback.wanted)
    }
  }

  private mutating func replayHistory(
    _ chain: [JournalLink], _ recent: RecentHistory, _ catalog: inout Catalog,
    newestFirst: Bool = false
  ) throws(StoreError) -> RecentHistory {
    let whole = try whole(chain)
    if whole.isEmpty { return recent }
    let start = try historyStart(
      whole, floor: newestFirst ? .distantFuture : recent.floor, into: &catalog)
    let part = whole.filter { $0.number >= start.firstJournal }
    // Without a checkpoint, the frames before the first existing one count as lost.
    var replay = JournalReplay(
      from: JournalPosition(frame: start.lastFrame), content: content, recent: recent,
      mayHaveLostPower: false)
    try replay.run(part, of: &journals, into: &catalog)
    return replay.recent
  }

  /// The chain with all earlier segments that exist.
  private mutating func whole(_ chain: [JournalLink]) throws(StoreError) -> [JournalLink] {
    guard let newest = chain.last?.number else { return [] }
    return try journals.chain(from: newest, believesCuts: !omitted.contains(.statedCut))
  }

  /// Loads the newest whole checkpoint that was taken before `floor`. Without one, replay begins with the
  /// space, or with the oldest whole checkpoint if the beginning of the journal is gone.
  private mutating func historyStart(
    _ chain: [JournalLink], floor: StoreTime, into catalog: inout Catalog
  ) throws(StoreError) -> CheckpointReference {
    let references = try journals.checkpoints(of: chain)
    for reference in references where reference.takenAt <= floor {
      if try load(reference, into: &catalog) { return reference }
    }
    if try !beginsWithSpace(chain) {
      for reference in references.reversed() where reference.takenAt > floor {
        if try load(reference, into: &catalog) { return reference }
      }
    }
    catalog = Catalog()
    catalog.beginReplay()
    return CheckpointReference()
  }
}

extension Catalog {
  /// The numbers of all regular files.
  fileprivate borrowing func files() -> [InodeNumber] {
    var found: [InodeNumber] = []
    forEachInode { _, state in if state.kind == .regular { found.append(state.number) } }
    return found
  }
}
