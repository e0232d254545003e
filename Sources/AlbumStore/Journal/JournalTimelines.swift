import AlbumFormat
import AlbumModel

// The walk here and the one in `JournalChain` stay separate, because each would be wrong for the other
// question:
//
// - Here a segment is a number and a birth, because several timelines use the same numbers. A step takes only
//   what a head names by both. So the walk ends where more segments are missing than a head names, and it has
//   only segments that exist. A step by number alone could cross into another timeline, whose segments then
//   counted as this one's.
// - `JournalChain` knows the timeline, so a number is enough. It must go on where the walk here ends. A lost
//   segment is a link of its own, without frames and with a cut. Behind any number of lost heads the next
//   segment that exists follows. If it ended there, replay would lose frames before damage that it can read.
// - The walk here stops at the segments that a checkpoint needs, because the store times of the newest ones
//   decide. `JournalChain` goes as far down as its caller says, if needed to the beginning of the space.
//
// Both read segments through `scan`, so each is read once.

/// The journal segments in the store, and which of them belong together.
///
/// Each head names its predecessor by number and birth, and the segments before it in case it is missing. So
/// a chain contains only segments of one timeline. Another timeline is a copy of the store that was written
/// to: its segments have the same numbers and other births. Or two sessions wrote one store at once, where
/// locks do not keep the second one out. If a store holds segments of several timelines, one counts: that of
/// the session whose fence made the other one stop, or else the one with the latest time. albumfs leaves the
/// others alone and reports them.
struct JournalTimelines {
  /// One journal segment.
  struct Segment: Hashable {
    var number: SegmentNumber
    var birth: SegmentBirth
    var id: SegmentID { SegmentID(kind: .journal, number: number) }
  }

  private let listing: SegmentListing
  private let content: ContentStore
  private var files: SegmentFiles { content.files }
  /// All existing segments, rising by number.
  private(set) var all: [Segment] = []
  private var scans: [Segment: JournalScan] = [:]
  /// The chain that counts, after it was chosen; the newest first.
  private var chosen: [Segment] = []
  /// The birth of each segment that a head of the chosen timeline names. Before the chosen chain, another
  /// timeline may have a segment of the same number.
  private var named: [SegmentNumber: SegmentBirth] = [:]
  /// The number of the fence of each session that has one; nil before they are read.
  private var fences: [SegmentBirth: UInt32]?

  init(_ listing: SegmentListing, content: ContentStore) {
    self.listing = listing
    self.content = content
    for (id, found) in listing.own where id.kind == .journal {
      for one in found { all.append(Segment(number: id.number, birth: one.birth)) }
    }
    all.sort { ($0.number, $0.birth.rawValue) < ($1.number, $1.birth.rawValue) }
  }

  /// Reads a segment, once.
  mutating func scan(_ segment: Segment) throws(StoreError) -> JournalScan {
    if let known = scans[segment] { return known }
    files.use(segment.id, segment.birth)
    let scan = try JournalScan(segment.id, files: files)
    scans[segment] = scan
    return scan
  }

  /// The segment of a number that counts; an empty scan where it is not there. A caller that goes down from
  /// the newest segment stays in the chosen timeline.
  mutating func scan(_ number: SegmentNumber) throws(StoreError) -> JournalScan {
    guard let segment = segment(number) else { return JournalScan() }
    let scan = try scan(segment)
    if let head = scan.head, !chosen.isEmpty {
      for ancestor in head.lineage where named[ancestor.number] == nil {
        named[ancestor.number] = ancestor.birth
      }
    }
    return scan
  }

  /// Returns the sessions with a head that decrypts.
  mutating func sessions() throws(StoreError) -> Set<SegmentBirth> {
    var found: Set<SegmentBirth> = []
    for segment in all where try scan(segment).head != nil { found.insert(segment.birth) }
    return found
  }

  /// The latest time in a segment.
  private mutating func newestTime(_ segment: Segment) throws(StoreError) -> StoreTime {
    let scan = try scan(segment)
    return scan.frames.map(\.frame.time).max() ?? scan.head?.time ?? .none
  }

  /// Reduces `all` to one timeline: the segments that may follow one another. Returns the others whose head
  /// decrypts.
  mutating func chooseTimeline() throws(StoreError) -> [Segment] {
    var foreign: [Segment] = []
    while let other = try newestOutside(try mainChain()) {
      let rival = try chain(from: other)
      let main = try mainChain()
      let isLater = try counts(rival, before: main)
      let losers = Set(isLater ? main : rival).subtracting(isLater ? rival : main)
      if losers.isEmpty { break }
      foreign += losers
      all.removeAll { losers.contains($0) }
    }
    let main = try mainChain()
    if let older = try wentOnElsewhere().last, try newestTime(older) > latest(main),
      try !wasFenced(older, by: main)
    {
      let losers = main.filter { $0.number > older.number }
      foreign += losers
      all.removeAll { losers.contains($0) }
    }
    chosen = try mainChain()
    return foreign.sorted { $0.number < $1.number }
  }

  // MARK: Fences

  /// True if a chain counts rather than another one. The clocks of two machines differ, so times decide only
  /// between copies of the store.
  private mutating func counts(_ rival: [Segment], before main: [Segment]) throws(StoreError)
    -> Bool
  {
    let (ours, theirs) = (
      rival.filter { !main.contains($0) }, main.filter { !rival.contains($0) }
    )
    if let (first, second) = try newestFences(ours, theirs), first != second {
      let stopped = first < second ? ours : theirs
      if try !passedBarriers(stopped, behind: .none) { return first > second }
    }
    return try latest(rival) > latest(main)
  }

  /// True if the session of a segment stopped because a session of the chain had made a later fence: what it
  /// wrote after its cut passed no barrier.
  private mutating func wasFenced(_ older: Segment, by chain: [Segment]) throws(StoreError) -> Bool
  {
    let later = chain.filter { $0.number > older.number }
    guard let successor = later.last, let head = try scan(successor).head,
      let (first, second) = try newestFences([older], later), first < second
    else { return false }
    return try !passedBarriers([older], behind: head.cutFrame)
  }

  /// True if at least two barriers were appended after `cut`. A session looks for a later fence before each
  /// barrier counts, so a session that was fenced appends no second one.
  private mutating func passedBarriers(_ segments: [Segment], behind cut: FrameNumber)
    throws(StoreError) -> Bool
  {
    var barriers = 0
    for segment in segments {
      for found in try scan(segment).frames
      where found.frame.number > cut && found.frame.barrier != nil { barriers += 1 }
    }
    return barriers >= 2
  }

  /// The highest fences of the sessions of two chains; nil if one of them has none.
  private mutating func newestFences(_ one: [Segment], _ other: [Segment]) throws(StoreError) -> (
    UInt32, UInt32
  )? {
    let fences = fences ?? listing.fences(files)
    self.fences = fences
    guard let first = one.compactMap({ fences[$0.birth] }).max(),
      let second = other.compactMap({ fences[$0.birth] }).max()
    else { return nil }
    return (first, second)
  }

  // MARK: Copies

  /// Returns the segments of the chain whose session continued in another copy: something was written in them
  /// after the next one was begun, or they hold frames that were on disk before and that the next one does
  /// not know. The copy was made of that store, and the copy began the next segment.
  mutating func wentOnElsewhere() throws(StoreError) -> [Segment] {
    let main = try mainChain()
    var found: [Segment] = []
    for (successor, former) in zip(main, main.dropFirst()) {
      guard let head = try scan(successor).head else { continue }
      let scan = try scan(former)
      let last = scan.seal == nil ? scan.provenFrame : scan.frames.last?.frame.number ?? .none
      if try newestTime(former) > head.time || last > head.cutFrame { found.append(former) }
    }
    return found
  }

  /// Returns the segments of the chain with frames that every mount accepts and that the next one does not
  /// know. Either their session continued in another copy. Or a power cut took these frames or their content
  /// from the store, and a tool that compares times left them in this copy.
  mutating func mayHaveGoneOnElsewhere() throws(StoreError) -> [Segment] {
    var found: [Segment] = []
    for (successor, former) in zip(chosen, chosen.dropFirst()) {
      guard let head = try scan(successor).head else { continue }
      let believed = try scan(former).believedFrame(behind: head.cutFrame, head.cutHash) {
        decryptsContent(of: $0, in: former.birth)
      }
      if believed > head.cutFrame { found.append(former) }
    }
    return found
  }

  /// The sessions of the timeline that counts which follow the point where others left it. Without them, the
  /// timeline of the others counts.
  mutating func sessions(behindForkOf others: [Segment]) throws(StoreError) -> Set<SegmentBirth> {
    var fork = SegmentNumber(.max)
    for other in others {
      let isMember = chosen.contains(other)
      let before = isMember ? other.number : try scan(other).head?.predecessor ?? other.number
      fork = min(fork, before)
    }
    let kept = chosen.filter { $0.number <= fork } + others
    return Set(chosen.map(\.birth)).subtracting(kept.map(\.birth))
  }

  /// The frames of segments that are of another timeline, or that the next segment of the chain leaves out,
  /// and the time of the frame before them, if the chain has it.
  mutating func framesLeftOut(in segments: [Segment]) throws(StoreError) -> (
    frames: [JournalScan.Frame], behind: StoreTime
  ) {
    var found: [JournalScan.Frame] = []
    for segment in segments {
      var cut = FrameNumber.none
      if let place = chosen.firstIndex(of: segment), place > 0 {
        cut = try scan(chosen[place - 1]).head?.cutFrame ?? .none
      }
      found += try scan(segment).frames.filter { $0.frame.number > cut }
    }
    guard let first = found.min(by: { $0.frame.number < $1.frame.number }) else {
      return ([], .none)
    }
    for segment in chosen {
      let before = try scan(segment).frames.first {
        $0.frame.number.next == first.frame.number && $0.hash == first.frame.previousHash
      }
      if let before { return (found, before.frame.time) }
    }
    return (found, .none)
  }

  /// True if all records decrypt to which a frame of a session refers. False if one is in a segment of
  /// another session, because no catalog shows here which of several segments of one number the frame means.
  private func decryptsContent(of frame: JournalFrame, in session: SegmentBirth) -> Bool {
    var referred: [Extent] = []
    do {
      try decodeItems(frame.items) { item in
        if case .extents(_, _, _, let extents) = item { referred += extents }
      }
      for extent in referred where !extent.isLost {
        let id = SegmentID(kind: .data, number: extent.segment)
        if !listing.contains(id, session) { return false }
        files.use(id, session)
        if try !content.decrypts(extent) { return false }
      }
    } catch { return false }
    return true
  }

  /// True if the frames of a segment without a head continue the chosen chain: the first states the hash of
  /// one there, or both are of the session that wrote last. True also for any frames where no head decrypts.
  mutating func followsChain(_ number: SegmentNumber) throws(StoreError) -> Bool {
    guard let segment = segment(number), let first = try scan(segment).frames.first?.frame else {
      return false
    }
    guard let newest = chosen.first else { return true }
    if segment.birth == newest.birth { return true }
    for link in try chain(from: newest.number).reversed() {
      let end = link.cut ?? link.limit ?? FrameNumber(.max)
      for found in try scan(link.number).frames
      where found.frame.number.next == first.number && found.frame.number <= end {
        return found.hash == first.previousHash
      }
    }
    return false
  }

  /// True if segments of one number and different births exist: one timeline gives each number once.
  var holdsOtherCopies: Bool { listing.own.values.contains { $0.count > 1 } }

  /// Segments with a head that, according to `isForeign`, belong to no session of this timeline.
  mutating func outsiders(where isForeign: (Segment) -> Bool) throws(StoreError) -> [Segment] {
    var found: [Segment] = []
    for segment in all where isForeign(segment) {
      if try scan(segment).head != nil { found.append(segment) }
    }
    return found
  }

  private mutating func latest(_ chain: [Segment]) throws(StoreError) -> StoreTime {
    guard let newest = chain.first else { return .none }
    return try newestTime(newest)
  }

  /// The chain of the newest segment whose head decrypts, the newest first.
  private mutating func mainChain() throws(StoreError) -> [Segment] {
    for segment in all.reversed() where try scan(segment).head != nil {
      return try chain(from: segment)
    }
    return []
  }

  private mutating func chain(from newest: Segment) throws(StoreError) -> [Segment] {
    var chain = [newest]
    guard var head = try scan(newest).head else { return chain }
    let first = head.firstNeeded
    while let last = chain.last, last.number > first {
      let lineage = head.lineage.map { Segment(number: $0.number, birth: $0.birth) }
      guard let former = lineage.first(where: { $0.number < last.number && all.contains($0) })
      else { break }
      chain.append(former)
      // If its heads are lost, the head of its successor names the segments before it.
      head = try scan(former).head ?? head
    }
    return chain
  }

  /// The segments before one of the chain, the newest first.
  mutating func ancestors(of number: SegmentNumber) throws(StoreError) -> [JournalHead.Ancestor] {
    if let segment = segment(number), let head = try scan(segment).head {
      return Array(head.lineage.prefix(JournalHead.ancestorLimit))
    }
    return []
  }

  /// The segment of a number that counts; nil if it is missing.
  func segment(_ number: SegmentNumber) -> Segment? {
    if let newest = chosen.first, let oldest = chosen.last, number <= newest.number,
      number >= oldest.number
    {
      return chosen.first { $0.number == number }
    }
    if let birth = named[number] { return all.first { $0.number == number && $0.birth == birth } }
    return all.last { $0.number == number }
  }

  /// A segment with a head that is not in the chain, though its number is within the chain's range.
  private mutating func newestOutside(_ chain: [Segment]) throws(StoreError) -> Segment? {
    guard let last = chain.last else { return nil }
    let members = Set(chain)
    for segment in all.reversed() where segment.number >= last.number && !members.contains(segment)
    {
      if try scan(segment).head != nil { return segment }
    }
    return nil
  }
}

extension JournalHead {
  /// The first journal segment that one of its checkpoints needs; 1 without a checkpoint.
  var firstNeeded: SegmentNumber {
    let needed = [checkpoint, formerCheckpoint].filter(\.exists).map(\.firstJournal).min()
    return checkpoint.exists && formerCheckpoint.exists ? needed! : SegmentNumber(1)
  }
}
