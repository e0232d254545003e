import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// Which segment of a space.
struct SegmentID: Hashable, Sendable {
  let kind: SegmentKind
  let number: SegmentNumber
}

/// The segment files in the store at one moment, of all spaces. A space finds its own, because it can
/// decrypt kind, number and birth from their names.
struct SegmentListing: Sendable {
  /// Names of all segments, including those of other spaces and chaff. What others made since it was listed
  /// is missing.
  private(set) var names: Set<SegmentName>
  /// The segments of this space. Several of one number are of different copies of one store.
  private(set) var own: [SegmentID: [(birth: SegmentBirth, name: SegmentName)]] = [:]

  fileprivate init(_ names: Set<SegmentName>, keys: SpaceKeys) {
    self.names = names
    for name in names {
      guard let found = keys.segment(named: name) else { continue }
      own[SegmentID(kind: found.kind, number: found.number), default: []].append(
        (found.birth, name))
    }
    for id in own.keys { own[id]?.sort { $0.birth.rawValue < $1.birth.rawValue } }
  }

  /// True if a segment of this number exists, with any birth.
  func contains(_ id: SegmentID) -> Bool { own[id] != nil }

  func contains(_ id: SegmentID, _ birth: SegmentBirth) -> Bool {
    own[id]?.contains { $0.birth == birth } ?? false
  }

  /// The births of the segments of a kind. If several have one number, one of them.
  func births(of kind: SegmentKind) -> [SegmentNumber: SegmentBirth] {
    var births: [SegmentNumber: SegmentBirth] = [:]
    for (id, found) in own where id.kind == kind {
      births[id.number] = found[found.count - 1].birth
    }
    return births
  }

  /// The numbers of the space's existing segments of a kind, rising.
  func numbers(of kind: SegmentKind) -> [SegmentNumber] {
    own.keys.filter { $0.kind == kind }.map(\.number).sorted()
  }

  /// Counters above the numbers of existing segments.
  var usedSegments: SpaceCounters {
    var used = SpaceCounters()
    used.nextDataSegment = (numbers(of: .data).last?.rawValue ?? 0) + 1
    used.nextCheckpointSegment = (numbers(of: .checkpoint).last?.rawValue ?? 0) + 1
    return used
  }
}

extension SegmentListing {
  /// The same without the segments of these sessions.
  func without(_ sessions: Set<SegmentBirth>) -> SegmentListing {
    var rest = self
    for (id, found) in own {
      let left = found.filter { !sessions.contains($0.birth) }
      rest.own[id] = left.isEmpty ? nil : left
    }
    return rest
  }

  /// Takes over that this session made or removed a segment.
  mutating func insert(_ id: SegmentID, _ birth: SegmentBirth, _ name: SegmentName) {
    if !names.insert(name).inserted { return }
    own[id, default: []].append((birth, name))
    own[id]?.sort { $0.birth.rawValue < $1.birth.rawValue }
  }

  mutating func remove(_ id: SegmentID, _ name: SegmentName) {
    if names.remove(name) == nil { return }
    own[id]?.removeAll { $0.name == name }
    if own[id]?.isEmpty == true { own[id] = nil }
  }
}

extension SegmentFiles {
  /// The existing segments. Lists the store once: later only this session makes or removes segments of the
  /// space.
  func list() throws(StoreError) -> SegmentListing {
    if let known = listing.withLock({ $0 }) { return known }
    return try listAnew()
  }

  /// Lists the existing segments. Takes the births of segments from their names here, if no caller has
  /// chosen one.
  func listAnew() throws(StoreError) -> SegmentListing {
    if listing.withLock({ $0 != nil }) { directory.forgetListing() }
    let folders = try directory.segmentFolders()
    for (path, error) in folders.misplaced { recordMisplaced(path, error) }
    let found = SegmentListing(folders.names, keys: keys)
    adoptNames(found)
    listing.withLock { $0 = found }
    unsettledFolders.withLock { $0 = folders.unsettled }
    return found
  }

  /// Takes a listing for what exists now.
  func rely(onGrown grown: SegmentListing) {
    adoptNames(grown)
    listing.withLock { $0 = grown }
  }

  /// The error of a segment whose path does not lead to the file that was written there.
  func movedAway(_ id: SegmentID) -> StoreError {
    let path = path(id)
    return StoreError(
      .inputOutput,
      "\(path) in the store is not the file that was written there: it, or its folder, was replaced or "
        + "moved away", path: path)
  }
}

extension SegmentFiles {
  /// Gives a new segment its birth: that of this session.
  @discardableResult
  func bear(_ id: SegmentID) -> SegmentBirth {
    use(id, session)
    return session
  }

  /// The whole segment; nil if it is missing. Short if the file is short.
  func contents(_ id: SegmentID) throws(StoreError) -> SegmentImage? {
    let image = SegmentImage(byteCount: segmentSize)
    return try load(id, into: image) ? image : nil
  }
}
