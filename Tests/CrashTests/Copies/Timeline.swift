import AlbumFormat
import AlbumModel

/// The model for copies: every content and every name that each file of one timeline had, by instants of
/// history. Inode numbers identify files. They never change and are never reused within a timeline.
struct Timeline: Sendable {
  struct Version: Sendable {
    var content: [UInt8]
    var kind: FileKind
    var modified: Timestamp
    /// The instants from the first to the last.
    var span: ClosedRange<Int>
  }

  /// A place in a directory.
  struct Place: Hashable, Sendable {
    var directory: InodeNumber
    var name: String
  }

  /// The file to which a place led for some time; nil for none.
  private struct Lease {
    var inode: InodeNumber?
    var span: ClosedRange<Int>
  }

  /// How a file lost its last name.
  private struct End {
    var instant: Int
    var place: Place
    /// The file that took its name; nil if the name was removed or a crash undid the file.
    var heir: InodeNumber?
  }

  private var versions: [InodeNumber: [Version]] = [:]
  private var attributes: [InodeNumber: [[[UInt8]: [UInt8]]]] = [:]
  private var leases: [Place: [Lease]] = [:]
  private var ends: [InodeNumber: [End]] = [:]
  private var former: [InodeNumber: Set<InodeNumber>] = [:]
  private var living: [Place: InodeNumber] = [:]
  private var snapshots: [Snapshot] = []
  private var trees: [PlainTree] = []
  /// The instants to which a mount returned.
  private var returns: Set<Int> = []
  private var floors: [History.Floor] = []
  /// For each instant, the position of the disk from which on the disk may know of it.
  private var starts: [Int] = []

  /// Returns the last instant at which the space had this state.
  func instant(_ snapshot: Snapshot) -> Int? { snapshots.lastIndex(of: snapshot) }

  /// Returns the plain model of an instant, after the end of the process.
  func tree(_ instant: Int) -> PlainTree {
    var tree = trees[instant]
    tree.endProcess()
    return tree
  }

  // MARK: What happened

  /// Appends a session. `base` is the instant of the disk at which it began; a crash may have come before.
  mutating func append(_ history: History, at base: Int) {
    let first = snapshots.count
    floors.append(History.Floor(position: base, instant: first))
    for (place, instant) in history.instants.enumerated() {
      // The instant after a dead one is the one to which a mount returned.
      let isReturn = place == 0 || history.instants[place - 1].end != .max
      append(instant.snapshot, instant.tree, isReturn: isReturn)
      starts.append(base + instant.start)
    }
    for floor in history.synced + history.closed {
      floors.append(
        History.Floor(position: base + floor.position, instant: first + floor.instant))
    }
  }

  private mutating func append(_ snapshot: Snapshot, _ tree: PlainTree, isReturn: Bool) {
    let instant = snapshots.count
    if isReturn { returns.insert(instant) }
    trees.append(tree)
    var places: [Place: InodeNumber] = [:]
    for (path, entry) in snapshot.entries where !Timeline.isThumbnail(path) {
      let inode = entry.state.number
      record(entry, of: inode, at: instant)
      if let place = snapshot.place(of: path) { places[place] = inode }
    }
    for place in Set(places.keys).union(living.keys) {
      record(place, places[place], at: instant)
    }
    let here = Set(places.values)
    for (place, inode) in living where !here.contains(inode) {
      let heir = isReturn ? nil : places[place]
      ends[inode, default: []].append(End(instant: instant, place: place, heir: heir))
      if let heir { former[heir, default: []].insert(inode) }
    }
    if !isReturn { recordReplacedLinks(places) }
    living = places
    snapshots.append(snapshot)
  }

  /// Records links that were replaced: a file with other names lost this name to another file.
  private mutating func recordReplacedLinks(_ places: [Place: InodeNumber]) {
    for (place, inode) in living {
      guard let heir = places[place], heir != inode else { continue }
      let keepsName = living.contains { $0.value == inode && places[$0.key] == inode }
      if keepsName { former[heir, default: []].insert(inode) }
    }
  }

  private mutating func record(_ entry: Snapshot.Entry, of inode: InodeNumber, at instant: Int) {
    var known = versions[inode, default: []]
    if let last = known.last, last.content == entry.content, last.kind == entry.state.kind,
      last.modified == entry.state.modified, last.span.upperBound >= instant - 1
    {
      known[known.count - 1].span = last.span.lowerBound...instant
    } else {
      known.append(
        Version(
          content: entry.content, kind: entry.state.kind, modified: entry.state.modified,
          span: instant...instant))
    }
    versions[inode] = known
    if attributes[inode]?.last != entry.attributes {
      attributes[inode, default: []].append(entry.attributes)
    }
  }

  private mutating func record(_ place: Place, _ inode: InodeNumber?, at instant: Int) {
    var known = leases[place, default: []]
    // After its last lease the place led to nothing.
    let silent = (known.last?.span.upperBound ?? -1) + 1
    if silent < instant { known.append(Lease(inode: nil, span: silent...instant - 1)) }
    if let last = known.last, last.inode == inode {
      known[known.count - 1].span = last.span.lowerBound...instant
    } else {
      known.append(Lease(inode: inode, span: instant...instant))
    }
    leases[place] = known
  }

  /// Returns the part of this timeline, up to an instant, that another one shares.
  func common(through instant: Int) -> Timeline {
    var result = Timeline()
    for place in 0...instant {
      result.append(snapshots[place], trees[place], isReturn: returns.contains(place))
    }
    result.starts = [Int](repeating: -1, count: instant + 1)
    return result
  }

  // MARK: Asking

  /// True for the path of a thumbnail, which its photo accounts for.
  static func isThumbnail(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    return parts.count == 3 && parts[1] == "Thumb"
  }

  func versions(of inode: InodeNumber) -> [Version] { versions[inode, default: []] }

  func versions(of path: String, in view: Snapshot) -> [Version] {
    view.entries[path].map { versions(of: $0.state.number) } ?? []
  }

  /// Returns the files to which a name in the root ever led.
  func inodes(named name: String, in view: Snapshot) -> Set<InodeNumber> {
    view.entries[""].map {
      inodes(of: Place(directory: $0.state.number, name: name), since: 0)
    } ?? []
  }

  /// Returns the oldest instant that a copy may show if it begins at this position.
  func promised(at position: Int) -> Int {
    floors.filter { $0.position <= position }.map(\.instant).max() ?? 0
  }

  /// Returns the last instant of which a disk can know.
  func latest(at position: Int) -> Int { starts.lastIndex { $0 < position } ?? 0 }

  /// True if a file had this content at an instant from `since` on.
  func had(_ inode: InodeNumber, _ entry: Snapshot.Entry, since: Int = 0) -> Bool {
    versions[inode, default: []].contains {
      $0.span.upperBound >= since && $0.content == entry.content && $0.kind == entry.state.kind
    }
  }

  /// True if the file had this time together with that content.
  private func hadTime(_ inode: InodeNumber, _ entry: Snapshot.Entry) -> Bool {
    versions[inode, default: []].contains {
      $0.content == entry.content && $0.modified == entry.state.modified
    }
  }

  /// True if a file had these bytes at that offset, in any of its contents.
  func had(_ inode: InodeNumber, _ piece: Snapshot.Piece) -> Bool {
    let end = piece.offset + piece.bytes.count
    return versions[inode, default: []].contains {
      $0.content.count >= end && $0.content[piece.offset..<end].elementsEqual(piece.bytes)
    }
  }

  private func inodes(of place: Place, since: Int) -> Set<InodeNumber> {
    var found = Set<InodeNumber>()
    for lease in leases[place, default: []] where lease.span.upperBound >= since {
      if let inode = lease.inode { found.insert(inode) }
    }
    return found
  }

  /// True if a place led to a file at any time.
  func hadName(_ place: Place, _ inode: InodeNumber) -> Bool {
    inodes(of: place, since: 0).contains(inode)
  }

  /// True if a place led to a file, or to one that replaced it, from `since` on.
  private func led(_ place: Place, to inode: InodeNumber, since: Int) -> Bool {
    inodes(of: place, since: since).contains { $0 == inode || isFormer(inode, of: $0) }
  }

  /// True if `later` replaced a file, directly or through others, as far as frames show.
  func isFormer(_ inode: InodeNumber, of later: InodeNumber) -> Bool {
    var seen: Set<InodeNumber> = [later]
    var next = [later]
    while let one = next.popLast() {
      let replaced = former[one, default: []].union(replacedWithinFrame(by: one))
      for found in replaced where seen.insert(found).inserted {
        if found == inode { return true }
        next.append(found)
      }
    }
    return false
  }

  /// Returns the files that `later` seems to have replaced: within one frame they lost a name to `later` and
  /// were removed, under that name or another.
  private func replacedWithinFrame(by later: InodeNumber) -> Set<InodeNumber> {
    var found: Set<InodeNumber> = []
    for leases in leases.values {
      for heir in leases where heir.inode == later {
        for lease in leases where lease.span.upperBound < heir.span.lowerBound {
          guard let inode = lease.inode, inode != later else { continue }
          let lost = lease.span.upperBound + 1
          let isWithinFrame = ends[inode, default: []].contains { end in
            end.instant >= lost && isOneFrame(lost, max(heir.span.lowerBound, end.instant))
          }
          if isWithinFrame { found.insert(inode) }
        }
      }
    }
    return found
  }

  /// True if one frame may cover two instants.
  private func isOneFrame(_ first: Int, _ last: Int) -> Bool {
    !floors.contains { (first..<last).contains($0.instant) }
      && !returns.contains { (first...last).contains($0) }
  }

  // MARK: Verdicts

  /// Returns what the view shows and never existed: each file must have a name that led to it, or to what
  /// replaced it, and a content, a time and attributes that it had from the instant `since` on.
  func foreign(in view: Snapshot, since: Int = 0, except isKnown: (String) -> Bool = { _ in false })
    -> [Fault]
  {
    var faults: [Fault] = []
    for (path, entry) in view.entries.sorted(by: { $0.key < $1.key }) where !isKnown(path) {
      if Timeline.isThumbnail(path) {
        if let text = thumbnailFault(path, entry, view) { faults.append(text) }
      } else if let text = fault(path, entry, view, since) {
        faults.append(text)
      }
    }
    return faults
  }

  private func fault(
    _ path: String, _ entry: Snapshot.Entry, _ view: Snapshot, _ since: Int
  ) -> Fault? {
    let inode = entry.state.number
    if versions[inode] == nil { return Fault("unknown file", path) }
    if let place = view.place(of: path), !led(place, to: inode, since: since) {
      return Fault(led(place, to: inode, since: 0) ? "old name" : "foreign name", path)
    }
    if let pieces = view.unreadable[path] {
      let isRight = pieces.allSatisfy { had(inode, $0) }
      return isRight ? nil : Fault("foreign bytes", "\(path), in part")
    }
    if !had(inode, entry) { return Fault("foreign bytes", path) }
    if !had(inode, entry, since: since) { return Fault("old content", path) }
    if entry.state.kind == .regular, !hadTime(inode, entry) {
      return Fault("content and time of different instants", path)
    }
    let isRight = attributes[inode]?.contains(entry.attributes) ?? false
    return isRight ? nil : Fault("foreign attributes", path)
  }

  /// Returns a fault if a thumbnail shows no content of the photo that it stands for.
  private func thumbnailFault(_ path: String, _ entry: Snapshot.Entry, _ view: Snapshot) -> Fault? {
    if view.unreadable[path] != nil { return Fault("thumbnail does not open", path) }
    let parts = path.split(separator: "/")
    for photo in ["\(parts[0])/\(parts[2])", "\(parts[0])/Photo/\(parts[2])"] {
      guard let inode = view.entries[photo]?.state.number else { continue }
      let isRight = versions[inode, default: []].contains {
        PlainTree.thumbnail(of: $0.content) == entry.content
      }
      if isRight { return nil }
    }
    return Fault("foreign thumbnail", path)
  }

  /// Returns what is missing: everything that existed at an instant must be shown as it was then or later.
  /// That applies to each file, unless it was removed or replaced up to another instant, and to each name
  /// that did not change. `nameless` are files that exist without a name, according to a check.
  func missing(
    in view: Snapshot, since: Int, until: Int, nameless: Set<InodeNumber> = []
  ) -> [Fault] {
    var faults: [Fault] = []
    var shown: [Place: InodeNumber] = [:]
    var right = nameless
    let unreadable = Set(view.unreadable.keys.compactMap { view.entries[$0]?.state.number })
    for (path, entry) in view.entries where !Timeline.isThumbnail(path) {
      if let place = view.place(of: path) { shown[place] = entry.state.number }
      if view.unreadable[path] == nil, had(entry.state.number, entry, since: since) {
        right.insert(entry.state.number)
      }
    }
    for (path, entry) in snapshots[since].entries.sorted(by: { $0.key < $1.key })
    where !Timeline.isThumbnail(path) {
      let inode = entry.state.number
      if !isKept(inode, right, since: since, until: until) {
        faults.append(Fault(unreadable.contains(inode) ? "unreadable" : "lost file", path))
      } else if let place = snapshots[since].place(of: path),
        isUnchanged(place, since: since, until: until), shown[place] != inode
      {
        faults.append(Fault("lost name", path))
      }
    }
    return faults
  }

  /// True if a place led to the same file during the whole span.
  private func isUnchanged(_ place: Place, since: Int, until: Int) -> Bool {
    leases[place, default: []].contains {
      $0.span.contains(since) && $0.span.upperBound >= until
    }
  }

  private func isKept(_ inode: InodeNumber, _ right: Set<InodeNumber>, since: Int, until: Int)
    -> Bool
  {
    var seen: Set<InodeNumber> = []
    var next = [inode]
    while let one = next.popLast() {
      if right.contains(one) { return true }
      for end in ends[one, default: []] where end.instant > since && end.instant <= until {
        guard let heir = end.heir, let visible = visibleHeir(at: end.place, since: end.instant)
        else { return true }
        for heir in [heir, visible] + heirsElsewhere(of: one, end)
        where seen.insert(heir).inserted { next.append(heir) }
      }
    }
    return false
  }
}

extension Timeline {
  /// Returns the file that seems to have taken a place, because a frame records where a name leads in the
  /// end; nil if the name seems to have been removed.
  private func visibleHeir(at place: Place, since instant: Int) -> InodeNumber? {
    let later = leases[place, default: []].filter { $0.span.upperBound >= instant }
    let framed = later.first { lease in
      floors.contains {
        (max(lease.span.lowerBound, instant)...lease.span.upperBound).contains($0.instant)
      }
    }
    return (framed ?? later.last)?.inode
  }

  /// Returns the files that seem to have replaced another one elsewhere: at the last frame before its end it
  /// had a name in another place, and these files took that name since.
  private func heirsElsewhere(of inode: InodeNumber, _ end: End) -> [InodeNumber] {
    let before = floors.map(\.instant).filter { $0 < end.instant }.max() ?? 0
    return leases.compactMap { place, leases in
      let hadIt = leases.contains { $0.inode == inode && $0.span.contains(before) }
      guard hadIt, place != end.place else { return nil }
      return visibleHeir(at: place, since: end.instant)
    }
  }
}

/// A broken promise: a word by which faults are counted, and the place.
struct Fault: Sendable, CustomStringConvertible {
  var kind: String
  var text: String

  init(_ kind: String, _ text: String) {
    self.kind = kind
    self.text = text
  }

  var description: String { "\(kind): \(text)" }
}

extension Snapshot {
  /// The directory and name of a path; nil for the root.
  func place(of path: String) -> Timeline.Place? {
    guard !path.isEmpty, let parent = entries[PlainTree.parent(path)],
      let name = path.split(separator: "/").last
    else { return nil }
    return Timeline.Place(directory: parent.state.number, name: String(name))
  }
}
