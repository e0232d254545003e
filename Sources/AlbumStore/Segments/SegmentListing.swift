import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// The segment files in the store at one moment, of all spaces. A space finds its own, because it can
/// decrypt kind, number and birth from their names.
struct SegmentListing: Sendable {
  /// Names of all segments, including those of other spaces and chaff.
  let names: Set<SegmentName>
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

extension SegmentFiles {
  /// Lists the existing segments. Takes the births of segments from their names here, if no caller has
  /// chosen one.
  func list() throws(StoreError) -> SegmentListing {
    let names = try directory.segmentNames { recordMisplaced($0, $1) }
    let listing = SegmentListing(names, keys: keys)
    adoptNames(listing)
    return listing
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
