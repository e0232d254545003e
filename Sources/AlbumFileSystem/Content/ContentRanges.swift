import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

// Calls that visit the extents of a whole file work in slices, each under its own hold of the catalog's
// lock, of at most `Catalog.extentsPerSlice` extents.

extension FileContent {
  /// lseek(2) with SEEK_DATA or SEEK_HOLE. If other callers write meanwhile, each range counts as it was at
  /// some moment during the call.
  func seek(to target: SeekTarget, from offset: Int64) throws(FSError) -> Int64 {
    try publish()
    if target == .data { return try dataBegin(from: offset) }
    var end = offset
    while true {
      let slice = try extents(from: end, limit: Catalog.extentsPerSlice, isFirst: end == offset)
      for extent in slice {
        if extent.offset > end { return end }
        end = extent.end
      }
      if slice.count < Catalog.extentsPerSlice { return end }
    }
  }

  private func dataBegin(from offset: Int64) throws(FSError) -> Int64 {
    let first = try extents(from: offset, limit: 1, isFirst: true).first
    guard let first else { throw FSError(.noSuchOffset) }
    return first.offset
  }

  private func extents(from offset: Int64, limit: Int, isFirst: Bool) throws(FSError) -> [Extent] {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> [Extent] in
      let size = catalog.state(index).size
      if isFirst, offset < 0 || offset >= size { throw FSError(.noSuchOffset) }
      return catalog.extents(of: index, from: offset, to: size, limit: limit)
    }
  }

  /// Makes this file share another's content, or as much of its start as one slice holds; returns the number
  /// of bytes.
  func share(
    _ source: FileContent, from: Int64, to: Int64, at destination: Int64, time: Timestamp
  ) throws(FSError) -> Int64 {
    try source.publish()
    let (own, other) = (index, source.index)
    var copied: Int64 = 0
    try change(from: destination) { catalog, size in
      var end = min(to, catalog.state(other).size)
      if end <= from { return size }
      let limit = Catalog.extentsPerSlice
      let found = catalog.extents(of: other, from: from, to: end, limit: limit)
      if found.count == limit, let last = found.last { end = last.end }
      copied = end - from
      let shared = found.map { extent in
        var moved = extent
        moved.offset += destination - from
        return moved
      }
      catalog.shareExtents(shared, with: own, from: destination, to: destination + copied)
      catalog.touch(own, time)
      return max(size, destination + copied)
    }
    return copied
  }
}
