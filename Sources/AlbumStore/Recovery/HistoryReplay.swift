import AlbumFormat
import AlbumModel

// Content that is not there: which files lack some, and what they were before.

extension Recovery {
  /// Looks at the content that frames of the last 15 minutes stated. `first`: `recent` knows what frames
  /// behind this one stated.
  mutating func missingContent(
    _ recent: inout RecentHistory, before first: FrameNumber, _ catalog: borrowing Catalog
  ) throws(StoreError) -> MissingContent {
    // Of a session that ended, all of whose segments are there, everything before a checkpoint is.
    var lacksFrames = false
    if !report.hasSessionEnded || lacksSegment(catalog), !omitted.contains(.wholeGrace) {
      lacksFrames = try noteWritten(before: first, &recent)
    }
    // What a frame stated that is not there, a checkpoint may know: then every file is looked at.
    let written = lacksFrames ? catalog.files() : Array(recent.written.keys)
    return try MissingContent(
      in: written, catalog, listing, content: content, session: position.birth,
      sessionHasEnded: report.hasSessionEnded, endsInWriting: endsInWriting, omitting: omitted)
  }

  private func lacksSegment(_ catalog: borrowing Catalog) -> Bool {
    catalog.segments.accounts.contains { number, account in
      account.live > 0 && !listing.contains(SegmentID(kind: .data, number: number), account.birth)
    }
  }

  /// Adds what frames stated that a checkpoint covers, as far as they are there. Returns whether some are
  /// not.
  private mutating func noteWritten(before first: FrameNumber, _ recent: inout RecentHistory)
    throws(StoreError) -> Bool
  {
    var lacksFrames = false
    // The frame behind which the segment that was looked at last begins.
    var end: FrameNumber?
    for segment in journals.all.reversed() {
      let scan = try scan(segment.number)
      lacksFrames = lacksFrames || scan.lacksFrames(upTo: end ?? .none)
      end = scan.head?.cutFrame ?? end
      scan.forEachStatement(upTo: first) { items, time in
        if recent.reaches(time) { recent.noteWritten(items, at: time) }
      }
      if let head = scan.head, !recent.reaches(head.time) { break }
    }
    return lacksFrames
  }

  /// Replays the last 15 minutes once more, from the newest checkpoint before them that is whole, and
  /// says how each file that lacks content is shown.
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
        // A checkpoint behind the gap knows what the frames in it stated.
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
    guard let newest = chain.last?.number else { return recent }
    let whole = try journals.chain(
      from: newest, believesCuts: !omitted.contains(.statedCut))
    let start = try historyStart(
      whole, floor: newestFirst ? StoreTime(milliseconds: .max) : recent.floor, into: &catalog)
    let part = whole.filter { $0.number >= start.firstJournal }
    var replay = JournalReplay(
      from: JournalPosition(
        frame: start.exists ? start.lastFrame : try journals.beginning(of: part) ?? .none),
      content: content, recent: recent, mayHaveLostPower: false)
    try replay.run(part, of: &journals, into: &catalog)
    return replay.recent
  }

  /// The newest checkpoint that is whole and was in force at the floor, else the oldest that is whole,
  /// else the beginning.
  private mutating func historyStart(
    _ chain: [JournalLink], floor: StoreTime, into catalog: inout Catalog
  ) throws(StoreError) -> CheckpointReference {
    let references = try journals.checkpoints(of: chain)
    let isWhole = chain.first?.number.rawValue == 1
    for reference in references where reference.takenAt <= floor {
      if try load(reference, into: &catalog) { return reference }
    }
    if !isWhole {
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
  /// The regular files.
  fileprivate borrowing func files() -> [InodeNumber] {
    var found: [InodeNumber] = []
    forEachInode { _, state in if state.kind == .regular { found.append(state.number) } }
    return found
  }
}
