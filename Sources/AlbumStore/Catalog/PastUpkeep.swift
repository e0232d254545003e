import AlbumFormat
import AlbumModel

// The upkeep of the past: which points stay, what goes with a point, frames and replay.

/// Identifies a past name that a frame states.
struct PastNameKey {
  var directory: InodeNumber
  var name: FileName
  var number: InodeNumber

  init(
    _ catalog: borrowing Catalog, _ name: FileName, in directory: InodeIndex, _ number: InodeNumber
  ) {
    self.directory = catalog.inodes[directory].state.number
    self.name = name
    self.number = number
  }
}

/// Which points stay: those with a label until the user removes them; of the others all of a day, the oldest
/// of each hour for 7 days, and the oldest of each day for as long as deleted files stay. The oldest is the
/// one before the mistake.
enum PointThinning {
  private static let all = Duration.seconds(24 * 3600)
  private static let hourly = Duration.seconds(7 * 24 * 3600)

  /// The points that may go, of some in order.
  static func superfluous(_ points: [HistoryPoint], now: StoreTime, kept: Duration)
    -> [InodeNumber]
  {
    var going: [InodeNumber] = []
    var last: (hour: Int64, day: Int64) = (.min, .min)
    for point in points where point.label == nil {
      let age = now - point.used
      let hour = point.used.milliseconds / 3_600_000
      let day = hour / 24
      let isFirst = age <= all || (age <= hourly ? hour != last.hour : day != last.day)
      if age > kept || !isFirst { going.append(point.number) } else { last = (hour, day) }
    }
    return going
  }
}

extension Catalog {
  /// Removes points. What only they needed goes with `prunePast`.
  mutating func removePoints(_ numbers: [InodeNumber]) {
    if numbers.isEmpty { return }
    let going = Set(numbers)
    points.removeAll { going.contains($0.number) }
    for number in numbers { changes.points.append(.gone(number)) }
  }

  /// True if a point lies between two numbers.
  private func isPoint(after low: InodeNumber, before high: InodeNumber) -> Bool {
    newestPoint(before: high).map { $0 > low } ?? false
  }

  private func newestPoint(before number: InodeNumber) -> InodeNumber? {
    let place = points.partition { $0.number >= number }
    return place == 0 ? nil : points[place - 1].number
  }

  /// True if a point shows this version of a file or directory.
  func isNeededInPast(_ version: InodeIndex) -> Bool {
    guard let record = formers.find(version), record.reason.isVersion else { return false }
    let file = InodeIndex(rawValue: record.directory)
    let older = formers.olderVersion(than: version).map { inodes[$0].state.number }
    return isPoint(
      after: max(older ?? InodeNumber(0), inodes[file].state.number),
      before: inodes[version].state.number)
  }

  /// A hold that removes versions ends when it had to look at so many others.
  static let passedVersionsPerHold = 4096

  /// Drops the past names and versions of some places that no point needs. Returns the next place; nil at
  /// the end.
  mutating func prunePast(from start: UInt32, limit: UInt32) -> UInt32? {
    let end = max(formers.names.upperBound, formers.upperBound)
    var stop = min(end, start.addingReportingOverflow(limit).partialValue)
    if start >= stop { return nil }
    let passed = formers.passedVersions
    for place in start..<stop {
      extents.steps.count()
      if formers.passedVersions - passed > Catalog.passedVersionsPerHold {
        stop = place
        break
      }
      if place < formers.names.upperBound, formers.names.occupant(place) != nil {
        prune(pastName: place)
      }
      if place < formers.upperBound, let record = formers.occupant(place),
        record.reason == .changed, !isNeededInPast(InodeIndex(rawValue: record.inode))
      {
        drop(version: InodeIndex(rawValue: record.inode))
      }
    }
    return stop < end ? stop : nil
  }

  private mutating func prune(pastName place: UInt32) {
    let record = formers.names[place]
    let older = record.older == .max ? InodeNumber(0) : formers.names[record.older].number
    guard let point = newestPoint(before: record.number), point > older else {
      return remove(pastName: place)
    }
    if record.child != .max, !was(InodeIndex(rawValue: record.child), at: point) {
      forgetChild(of: place, at: point)
    }
  }

  /// Lets a past name lead to nothing. It goes, unless the name would then lead to something that was there
  /// at the point, though not in this place.
  private mutating func forgetChild(of place: UInt32, at point: InodeNumber) {
    let record = formers.names[place]
    let name = formers.names.name(of: place)
    let directory = InodeIndex(rawValue: record.directory)
    var next = child(name, of: directory)
    if let newer = formers.names.newer(than: place) {
      next =
        formers.names[newer].child == .max ? nil : InodeIndex(rawValue: formers.names[newer].child)
    }
    guard next.map({ was($0, at: point) }) ?? false else { return remove(pastName: place) }
    formers.names.forgetChild(place)
    changes.pastNames.append(PastNameKey(self, name, in: directory, record.number))
    if record.child != .max { release(InodeIndex(rawValue: record.child)) }
  }

  private mutating func remove(pastName place: UInt32) {
    let record = formers.names[place]
    let directory = InodeIndex(rawValue: record.directory)
    changes.pastNames.append(
      PastNameKey(self, formers.names.name(of: place), in: directory, record.number))
    formers.names.remove(place)
    if record.child != .max { release(InodeIndex(rawValue: record.child)) }
    release(directory)
  }

  private mutating func release(_ index: InodeIndex) {
    releaseFromPast(index)
    freeIfUnused(index)
  }

  private mutating func drop(version: InodeIndex) {
    pin(version)
    dropFormer(of: version)
    unpin(version)
  }

  // MARK: For good

  /// Takes files out of the past, for a purge: past names that lead to them, and their versions. Looks at
  /// some places; returns the next, nil at the end.
  mutating func purgeFromPast(
    _ files: Set<InodeNumber>, from start: UInt32, limit: UInt32
  ) -> UInt32? {
    let end = max(formers.names.upperBound, formers.upperBound)
    let stop = min(end, start.addingReportingOverflow(limit).partialValue)
    if start >= stop { return nil }
    extents.steps.count(Int(stop - start))
    for place in start..<stop {
      if place < formers.names.upperBound, let record = formers.names.occupant(place),
        record.child != .max,
        files.contains(inodes[InodeIndex(rawValue: record.child)].state.number)
      {
        forgetChild(of: place, at: newestPoint(before: record.number) ?? InodeNumber(0))
      }
      if place < formers.upperBound, let record = formers.occupant(place),
        record.reason.isVersion,
        files.contains(inodes[InodeIndex(rawValue: record.directory)].state.number)
      {
        drop(version: InodeIndex(rawValue: record.inode))
      }
    }
    return stop < end ? stop : nil
  }

  /// Takes the content out of a version that a point still needs, for a purge: the point shows an empty
  /// file.
  mutating func emptyVersion(_ version: InodeIndex) {
    setThumbnail(nil, of: version)
    dropExtents(of: version)
    enqueueExtents(version, 0, .max, count: 0)
    for name in attributeNames(of: version) { setAttribute(name, of: version, to: nil) }
    update(version) { $0.size = 0 }
  }

  // MARK: Frames and replay

  func encodePoints(into writer: inout ByteWriter) {
    for point in points { JournalItem.point(.there(point)).encode(into: &writer) }
  }

  func encodePastName(_ key: PastNameKey, into writer: inout ByteWriter) {
    let place = inodes.find(key.directory).flatMap {
      formers.names.place(of: key.name, in: $0, number: key.number)
    }
    var name = PastName(number: key.number, directory: key.directory, name: key.name, child: nil)
    if let place { name.child = childNumber(of: place) }
    JournalItem.pastName(name, isPresent: place != nil).encode(into: &writer)
  }

  private func childNumber(of place: UInt32) -> InodeNumber? {
    let child = formers.names[place].child
    return child == .max ? nil : inodes[InodeIndex(rawValue: child)].state.number
  }

  /// Encodes the past names of the next `count` places, for a checkpoint. Returns nil at the end.
  func encodePastNames(_ start: inout UInt32, count: UInt32) -> [UInt8]? {
    let stop = min(formers.names.upperBound, start.addingReportingOverflow(count).partialValue)
    if start >= stop { return nil }
    var writer = ByteWriter()
    for place in start..<stop {
      guard let record = formers.names.occupant(place) else { continue }
      let name = PastName(
        number: record.number,
        directory: inodes[InodeIndex(rawValue: record.directory)].state.number,
        name: formers.names.name(of: place), child: childNumber(of: place))
      JournalItem.pastName(name, isPresent: true).encode(into: &writer)
    }
    start = stop
    return writer.bytes
  }

  mutating func apply(_ statement: PointStatement) {
    switch statement {
    case .gone(let number): points.removeAll { $0.number == number }
    case .allGone(let last): forgetPast(upTo: last)
    case .there(let point):
      points.removeAll { $0.number == point.number }
      points.insert(point, at: points.partition { $0.number > point.number })
    }
  }

  mutating func apply(_ name: PastName, isPresent: Bool) {
    if !isPresent {
      if let directory = inodes.find(name.directory),
        let place = formers.names.place(of: name.name, in: directory, number: name.number)
      {
        formers.names.remove(place)
      }
      return
    }
    let directory = expect(name.directory, .directory)
    if let place = formers.names.place(of: name.name, in: directory, number: name.number) {
      formers.names.remove(place)
    }
    let child = name.child.map { expect($0, .regular) }
    formers.names.insert(name.name, in: directory, child: child, number: name.number)
  }

  /// During replay.
  private mutating func forgetPast(upTo last: InodeNumber) {
    points.removeAll { $0.number <= last }
    for place in 0..<formers.names.upperBound {
      guard let record = formers.names.occupant(place), record.number <= last else { continue }
      formers.names.remove(place)
    }
  }

  /// Ends replay for the past, which is whole or is none: a lost frame, or content that a session of a
  /// release without points has removed, may have been a part of any point.
  mutating func finishPast(isWhole: Bool) {
    if points.isEmpty && formers.names.count == 0 { return dropUnneededVersions() }
    var isWhole = isWhole && gap == nil
    if let newest = sessions.max(by: { $0.value.journal < $1.value.journal })?.key,
      properties[.pointSession] != newest.rawValue
    {
      isWhole = false
    }
    // Numbers from now on must be above that of the newest point.
    if let point = points.last?.number { isWhole = isWhole && point.rawValue < counters.nextInode }
    for place in 0..<formers.names.upperBound where isWhole {
      if let record = formers.names.occupant(place) { isWhole = isKnown(record) }
    }
    if !isWhole {
      let last = InodeNumber(max(1, counters.nextInode - 1))
      forgetPast(upTo: last)
      changes.forgottenPast = last
      return dropUnneededVersions()
    }
    for place in 0..<formers.names.upperBound {
      guard let record = formers.names.occupant(place) else { continue }
      keepInPast(InodeIndex(rawValue: record.directory))
      if record.child != .max { keepInPast(InodeIndex(rawValue: record.child)) }
    }
    keepSegmentsOfPast()
    dropUnneededVersions()
  }

  private func isKnown(_ record: PastNameRecord) -> Bool {
    let directory = inodes[InodeIndex(rawValue: record.directory)]
    if directory.isExpected || directory.directory == .max { return false }
    if record.child == .max { return true }
    let child = InodeIndex(rawValue: record.child)
    return !inodes[child].isExpected && hasKnownSegments(child)
  }

  /// True if all content of an inode is in segments that the space has.
  func hasKnownSegments(_ index: InodeIndex) -> Bool {
    extents.all(inodes[index].extents).allSatisfy { extent in
      extent.isLost || segments.accounts[extent.segment] != nil
    }
  }

  private mutating func keepSegmentsOfPast() {
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw), inodes[index].isInPast,
        inodes[index].state.links == 0
      else { continue }
      keepSegments(of: index)
    }
  }

  /// Lets the segments of an inode's content live, which a session of another release may have retired.
  mutating func keepSegments(of index: InodeIndex) {
    for extent in extents.all(inodes[index].extents)
    where segments.accounts[extent.segment]?.state == .retired {
      setState(of: extent.segment, to: .living)
    }
  }

  private mutating func dropUnneededVersions() {
    for place in 0..<formers.upperBound {
      guard let record = formers.occupant(place), record.reason == .changed else { continue }
      let version = InodeIndex(rawValue: record.inode)
      if !isNeededInPast(version) { dropFormer(of: version) }
    }
  }
}
