import AlbumFormat
import AlbumStore

/// Sealed content of one file that waits for the next frame. Newer content replaces older at its offsets.
/// It gives replaced content back to the catalog, and in its deinitializer all that remains.
///
/// Do not change or end it under the catalog's lock, because releasing extents takes that lock (see
/// `HeldExtents`).
struct PendingExtents: ~Copyable {
  private var map = ExtentMap()
  private let space: Space

  init(in space: Space) { self.space = space }

  deinit { PendingExtents.letGo(map.extents, in: space) }

  var isEmpty: Bool { map.isEmpty }
  var extents: [Extent] { map.extents }

  func overlapping(from: Int64, to: Int64) -> [Extent] { map.overlapping(from: from, to: to) }

  mutating func put(_ held: consuming HeldExtents) {
    var replaced: [Extent] = []
    for extent in held.take() {
      replaced += map.replace(from: extent.offset, to: extent.end, with: [extent])
    }
    PendingExtents.letGo(replaced, in: space)
  }

  /// Gives away what lies below `limit`: the caller puts it into the catalog.
  mutating func take(below limit: Int64) -> [Extent] { map.replace(from: 0, to: limit, with: []) }

  /// Gives up what lies at `offset` and behind it.
  mutating func cut(at offset: Int64) {
    PendingExtents.letGo(map.replace(from: offset, to: .max, with: []), in: space)
  }

  private static func letGo(_ extents: [Extent], in space: Space) {
    if extents.isEmpty { return }
    space.change { catalog in
      for extent in extents { catalog.letGo(extent) }
    }
  }
}
