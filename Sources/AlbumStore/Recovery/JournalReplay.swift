import AlbumFormat
import AlbumModel

/// Applies the frames of one journal segment after the other to a catalog, and decides which frames are
/// proven, believed, cut or damaged.
///
/// 1. Frames up to the last proven barrier of a segment, or up to the cut that the next head records, were on
///    disk. A missing one is damage. Replay skips it, counts it and notes a gap in the catalog, so that the
///    catalog shows nothing half known (`Catalog.apply(behindGap:)`).
/// 2. After a possible power cut, replay believes later frames one by one, as long as each contains the hash
///    of the one before. For frames that the last barrier does not cover, all records that they refer to must
///    decrypt too. A barrier, proven or not, is written only when the records before it are on disk, so a
///    record missing there is damage. Without a power cut, every frame that exists was written completely,
///    and so were the ones before it.
/// 3. Frames that count only together are applied together. They may continue in the next segment.
///
/// Changes only the catalog that it gets, and reads records of data segments to prove frames. Writes nothing.
struct JournalReplay {
  /// The position after the last frame that was applied or given up.
  private(set) var position: JournalPosition
  private(set) var report = RecoveryReport()
  /// The data segments that frames after the last proven barrier refer to.
  private(set) var believedSegments: Set<SegmentNumber> = []

  /// Further findings for a check; nil during a mount.
  private(set) var salvaged: SalvageReport?
  /// The history within the grace time.
  private(set) var recent: RecentHistory

  /// True if content after the last barrier is missing that no power cut can have taken: it was in a segment
  /// that was whole, or in a missing segment whose birth a barrier covers.
  private(set) var provesLoss = false
  /// The files and names that frames after the cut describe.
  private(set) var cutChanges = CutChanges()

  private let content: ContentStore
  /// True if the newest segment is too short: the session was killed at its birth, or it was cut since.
  private(set) var isNewestShort = false
  /// Segments that only frames after the last barrier name.
  private var lateSegments: Set<SegmentNumber> = []
  /// The last frame that was seen in order, `group` included.
  private var reached: FrameNumber
  /// Its hash; nil if that frame is lost.
  private var reachedHash: [UInt8]?
  /// Frames that count only together with the next.
  private var group: [JournalScan.Frame] = []
  /// The last frame whose content a barrier covers.
  private var synced = FrameNumber.none
  /// True after the cut: later frames are neither proven nor believed.
  private var isCut = false

  /// True if a power cut may have taken writes that were not synced.
  private let mayHaveLostPower: Bool
  /// True if the crash harness leaves out the precaution that each frame continues the one before.
  private let believesAll: Bool

  /// Replay begins after the frame that `position` names.
  init(
    from position: JournalPosition, content: ContentStore, recent: RecentHistory,
    mayHaveLostPower: Bool, salvaged: SalvageReport? = nil, believesAll: Bool = false
  ) {
    self.recent = recent
    self.mayHaveLostPower = mayHaveLostPower
    self.salvaged = salvaged
    self.believesAll = believesAll
    self.position = position
    self.content = content
    reached = position.frame
    reachedHash = position.frame == .none ? position.hash : nil
  }

  /// Applies the frames of a chain, the oldest first.
  mutating func run(
    _ chain: [JournalLink], of journals: inout JournalTimelines, into catalog: inout Catalog
  ) throws(StoreError) {
    for (link, next) in zip(chain, chain.dropFirst()) {
      let end = try journals.scan(next.number).head?.time
      try replay(try journals.scan(link.number), of: link, endedAt: end, into: &catalog)
    }
    if let newest = chain.last?.number {
      try finish(try journals.scan(newest), of: newest, into: &catalog)
    }
  }

  /// Replays a segment that others follow. `end` is when the next one was begun, if that is known.
  private mutating func replay(
    _ scan: JournalScan, of link: JournalLink, endedAt end: StoreTime?, into catalog: inout Catalog
  ) throws(StoreError) {
    let (number, cut, limit) = (link.number, link.cut, link.limit)
    enter(number, scan, &catalog)
    let proven = cut ?? scan.provenFrame
    synced = proven
    for found in scan.frames {
      if let end = cut ?? limit, found.frame.number > end { break }
      try take(found, number, proven, into: &catalog)
    }
    if let cut, reached < cut {
      let isRecent = end.map(recent.reaches) ?? true
      lose(
        upTo: cut, wereUnwritten: scan.seal == nil && scan.isEndUnwritten && isRecent, &catalog)
    }
  }

  /// Replays the newest segment.
  private mutating func finish(
    _ scan: JournalScan, of number: SegmentNumber, into catalog: inout Catalog
  ) throws(StoreError) {
    enter(number, scan, &catalog)
    let proven = scan.provenFrame
    synced = scan.syncedFrame
    for found in scan.frames { try take(found, number, proven, into: &catalog) }
    if reached < proven { lose(upTo: proven, wereUnwritten: false, &catalog) }
    report.cutFrames += group.count
    report.wasClean = !isCut && group.isEmpty && scan.endsByUnmount
    report.isCutShort = scan.isProvenDurable && !scan.isWhole
    isNewestShort = !scan.isWhole
  }

  private mutating func enter(
    _ number: SegmentNumber, _ scan: JournalScan, _ catalog: inout Catalog
  ) {
    isCut = false
    if let head = scan.head, head.cutFrame > reached {
      // The segments between the two are missing.
      lose(upTo: head.cutFrame, wereUnwritten: recent.reaches(head.time), &catalog)
    }
    if let head = scan.head, head.cutFrame == reached { reachedHash = head.cutHash }
    if let head = scan.head { catalog.lossMark = head.loss }
    if !group.isEmpty { return }
    position.segment = number
    position.offset = scan.start
    if let reachedHash { position.hash = reachedHash }
  }

  // MARK: One frame

  private mutating func take(
    _ found: JournalScan.Frame, _ segment: SegmentNumber, _ proven: FrameNumber,
    into catalog: inout Catalog
  ) throws(StoreError) {
    let number = found.frame.number
    if number <= reached {
      if number == reached, group.isEmpty { stand(behind: found, in: segment) }
      return
    }
    if isCut {
      cutChanges.add([found])
      report.cutFrames += 1
      return
    }
    if number <= proven {
      if number != reached.next {
        lose(
          upTo: FrameNumber(number.rawValue - 1), wereUnwritten: isRecentTail(found), &catalog)
      }
    } else {
      if reached < proven {
        lose(upTo: proven, wereUnwritten: isRecentTail(found), &catalog)
      }
      if !continues(found) {
        if mayHaveLostPower || isOfAnotherChain(found) { return cut(found) }
        if number != reached.next {
          lose(
            upTo: FrameNumber(number.rawValue - 1), wereUnwritten: isRecentTail(found), &catalog)
        }
      }
    }
    reached = number
    reachedHash = found.hash
    if !fits(found) {
      // The beginning or the end of frames that count only together is lost.
      giveUp(found, &catalog)
      if found.frame.isContinuation { return }
    }
    group.append(found)
    if found.frame.continues { return }
    if number > synced, mayHaveLostPower, try !decryptsContent(of: group, catalog) {
      // If another segment follows, its head shows whether an earlier mount believed these frames.
      reached = FrameNumber(group[0].frame.number.rawValue - 1)
      reachedHash = group[0].frame.previousHash
      return cut(found)
    }
    if number > proven { recordBelieved(group) }
    try apply(segment, into: &catalog)
  }

  /// True if an unproven frame is the next one.
  private func continues(_ found: JournalScan.Frame) -> Bool {
    if believesAll { return fits(found) }
    if found.frame.number != reached.next { return false }
    guard let reachedHash else { return true }
    return found.frame.previousHash == reachedHash && fits(found)
  }

  /// True if a frame has the next number, but contains the hash of a different predecessor.
  private func isOfAnotherChain(_ found: JournalScan.Frame) -> Bool {
    guard let reachedHash, found.frame.number == reached.next else { return false }
    return found.frame.previousHash != reachedHash
  }

  private func fits(_ found: JournalScan.Frame) -> Bool {
    found.frame.isContinuation != group.isEmpty
  }

  private mutating func cut(_ found: JournalScan.Frame) {
    isCut = true
    cutChanges.add(group + [found])
    report.cutFrames += group.isEmpty ? 1 : group.count
    if group.last?.frame.number != found.frame.number, !group.isEmpty { report.cutFrames += 1 }
    group = []
  }

  /// True if a copy may have been made before the frames were written that are missing before this one.
  /// Frames that are missing before an older one were there when the copy began.
  private func isRecentTail(_ found: JournalScan.Frame) -> Bool {
    found.followsUnwritten && recent.reaches(found.frame.time)
  }

  // MARK: Damage

  /// Records that frames up to `number` were on disk and are missing. `wereUnwritten` is true if a copy may
  /// have been made before they were written.
  private mutating func lose(
    upTo number: FrameNumber, wereUnwritten: Bool, _ catalog: inout Catalog
  ) {
    catalog.beginGap()
    let missing = number.rawValue - reached.rawValue
    if wereUnwritten { report.absentFrames += Int(clamping: missing) + group.count }
    report.damagedFrames += Int(clamping: missing) + group.count
    group = []
    reached = number
    reachedHash = nil
    position.frame = number
  }

  /// Discards what is left of frames that count only together.
  private mutating func giveUp(_ found: JournalScan.Frame, _ catalog: inout Catalog) {
    catalog.beginGap()
    report.damagedFrames += group.count
    group = []
    guard found.frame.isContinuation else { return }
    report.damagedFrames += 1
    position.frame = found.frame.number
  }

  // MARK: Applying

  private mutating func apply(_ segment: SegmentNumber, into catalog: inout Catalog)
    throws(StoreError)
  {
    guard let last = group.last else { return }
    var items: [JournalItem] = []
    let isRecent = recent.reaches(last.frame.time)
    if catalog.gap == nil, salvaged == nil, !isRecent {
      try decode(group) { catalog.apply($0) }
    } else {
      try decode(group) { items.append($0) }
      if isRecent { recent.willApply(items, to: catalog) }
      catalog.apply(behindGap: items)
      if isRecent { recent.didApply(items, by: last.frame, to: catalog) }
    }
    for item in items { salvaged?.record(item) }
    if last.frame.number > position.frame { stand(behind: last, in: segment) }
    group = []
  }

  private mutating func stand(behind found: JournalScan.Frame, in segment: SegmentNumber) {
    position.segment = segment
    position.frame = found.frame.number
    position.hash = found.hash
    position.offset = found.end
    reachedHash = found.hash
  }

  /// True if all records that these frames refer to decrypt.
  private mutating func decryptsContent(
    of group: [JournalScan.Frame], _ catalog: borrowing Catalog
  ) throws(StoreError) -> Bool {
    var referred: [Extent] = []
    var stated: Set<SegmentNumber> = []
    try decode(group) { item in
      switch item {
      case .extents(_, _, _, let extents): referred += extents.filter { !$0.isLost }
      case .segment(let kind, let number, let birth, _, _):
        let isKnown = catalog.segments.accounts[number]?.birth == birth
        if kind != .data { return }
        if !isKnown { lateSegments.insert(number) }
        content.files.use(SegmentID(kind: .data, number: number), birth)
        stated.insert(number)
      default: break
      }
    }
    for extent in referred {
      if !stated.contains(extent.segment),
        let birth = catalog.segments.accounts[extent.segment]?.birth
      {
        content.files.use(SegmentID(kind: .data, number: extent.segment), birth)
      }
      if try content.decryptsOrIsUnreadable(extent) { continue }
      let isLost = try isLost(extent.segment)
      provesLoss = provesLoss || isLost
      return false
    }
    return true
  }

  /// True if the missing content of a segment was on disk when a barrier was written.
  private func isLost(_ number: SegmentNumber) throws(StoreError) -> Bool {
    let id = SegmentID(kind: .data, number: number)
    if try content.files.seal(of: id) != nil { return true }
    if lateSegments.contains(number) { return false }
    return try !content.files.exists(id)
  }

  private mutating func recordBelieved(_ group: [JournalScan.Frame]) {
    try? decode(group) { item in
      guard case .extents(_, _, _, let extents) = item else { return }
      for extent in extents where !extent.isLost { believedSegments.insert(extent.segment) }
    }
    report.believedFrames += group.count
  }

  private func decode(_ group: [JournalScan.Frame], _ body: (JournalItem) -> Void)
    throws(StoreError)
  {
    let bytes = group.count == 1 ? group[0].frame.items : group.flatMap(\.frame.items)
    do throws(FormatError) { try decodeItems(bytes, body) } catch {
      throw StoreError(
        .unsupportedFeature, "journal frame \(group[0].frame.number.rawValue): \(error)")
    }
  }
}
