import AlbumFormat
import AlbumModel
import AlbumSecrets
import Posix

/// The segment files that the store held at one moment, whosever they are. A space finds its own
/// among them by their names, which are keyed hashes: it can say whether a segment is there, and finds
/// out which are there by trying numbers.
struct SegmentListing: Sendable {
  let names: Set<SegmentName>
  private let keys: SpaceKeys

  /// How many numbers are tried where no segment is found: at 4 MiB each, 1 TiB of what was written
  /// before the oldest that is left. Journals take fewer.
  private static let triedNumbers: UInt32 = 1 << 18

  fileprivate init(_ names: Set<SegmentName>, keys: SpaceKeys) {
    self.names = names
    self.keys = keys
  }

  func contains(_ id: SegmentID) -> Bool {
    names.contains(keys.name(of: id.kind, number: id.number))
  }

  /// The numbers of the space's segments of a kind that are there, rising. Numbers are tried from 1
  /// up: `tries` until one is found, and then until `misses` of them one after the other have no
  /// segment.
  func numbers(of kind: SegmentKind, tries: UInt32 = triedNumbers, misses: UInt32 = 1 << 16)
    -> [SegmentNumber]
  {
    var found: [SegmentNumber] = []
    var (raw, end): (UInt32, UInt32) = (1, tries)
    while raw < end {
      let id = SegmentID(kind: kind, number: SegmentNumber(raw))
      if contains(id) {
        found.append(id.number)
        end = raw + misses
      }
      raw += 1
    }
    return found
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
  /// What is there now: reads every folder of segments.
  func list() throws(StoreError) -> SegmentListing {
    var names: Set<SegmentName> = []
    do throws(Errno) {
      for folder in try directory.list(SegmentPath.root) {
        do throws(Errno) {
          for file in try directory.list("\(SegmentPath.root)/\(folder)") {
            if let name = SegmentName(text: file) { names.insert(name) }
          }
        } catch {
          if error != .notDirectory { throw error }
        }
      }
    } catch {
      throw StoreError(reading: SegmentPath.root, error)
    }
    return SegmentListing(names, keys: keys)
  }
}
