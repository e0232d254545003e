import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// The segment files that the store held at one moment, whosever they are. A space finds its own
/// among them, since their names say kind, number and birth to who has its keys.
struct SegmentListing: Sendable {
  /// Names of all segments, those of other spaces and chaff included.
  let names: Set<SegmentName>
  /// Those of this space. Several of one number are of timelines that grew from one store.
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

  /// Whether a segment of this number is there, of whatever birth.
  func contains(_ id: SegmentID) -> Bool { own[id] != nil }

  func contains(_ id: SegmentID, _ birth: SegmentBirth) -> Bool {
    own[id]?.contains { $0.birth == birth } ?? false
  }

  /// The births of the segments of a kind; of several of one number, of one of them.
  func births(of kind: SegmentKind) -> [SegmentNumber: SegmentBirth] {
    var births: [SegmentNumber: SegmentBirth] = [:]
    for (id, found) in own where id.kind == kind {
      births[id.number] = found[found.count - 1].birth
    }
    return births
  }

  /// The numbers of the space's segments of a kind that are there, rising.
  func numbers(of kind: SegmentKind) -> [SegmentNumber] {
    own.keys.filter { $0.kind == kind }.map(\.number).sorted()
  }

  /// Counters above those of the segments that are there.
  var usedSegments: SpaceCounters {
    var used = SpaceCounters()
    used.nextDataSegment = (numbers(of: .data).last?.rawValue ?? 0) + 1
    used.nextCheckpointSegment = (numbers(of: .checkpoint).last?.rawValue ?? 0) + 1
    return used
  }
}

extension SegmentFiles {
  /// What is there now. Segments whose birth nobody has said yet are found by the names that they have
  /// here.
  func list() throws(StoreError) -> SegmentListing {
    let names = try directory.segmentNames { noteMisplaced($0, $1) }
    let listing = SegmentListing(names, keys: keys)
    adoptNames(listing)
    return listing
  }
}
