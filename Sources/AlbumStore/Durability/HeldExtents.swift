package import AlbumFormat
import AlbumModel

/// Sealed content that no file has yet. It counts as live until the holder gives it to a file. When this
/// value ends, it releases what the holder has not given away. So a caller that seals several records and
/// fails on the way has nothing to clean up.
///
/// It must not end under the catalog's lock, because releasing takes that lock. A debug build checks this.
package struct HeldExtents: ~Copyable, Sendable {
  package private(set) var extents: [Extent] = []
  private let catalog: CatalogLock

  /// Holds nothing yet.
  init(_ catalog: CatalogLock) { self.catalog = catalog }

  /// `extent` was held for the caller.
  init(_ extent: Extent, _ catalog: CatalogLock) {
    extents = [extent]
    self.catalog = catalog
  }

  deinit {
    for start in stride(from: 0, to: extents.count, by: Catalog.extentsPerSlice) {
      catalog.withLock { catalog in
        for extent in extents[start...].prefix(Catalog.extentsPerSlice) { catalog.letGo(extent) }
      }
    }
  }

  package var isEmpty: Bool { extents.isEmpty }

  /// Adds what another one holds.
  package mutating func add(_ other: consuming HeldExtents) { extents += other.take() }

  /// Takes over one that was held for the caller.
  mutating func add(_ extent: Extent) { extents.append(extent) }

  /// Gives the first `count` away: the caller puts them into the catalog, or lets go of them.
  package mutating func take(_ count: Int = .max) -> [Extent] {
    if count >= extents.count {
      defer { extents = [] }
      return extents
    }
    let taken = Array(extents.prefix(count))
    extents.removeFirst(count)
    return taken
  }
}
