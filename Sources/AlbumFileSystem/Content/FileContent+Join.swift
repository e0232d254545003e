import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

extension FileContent {
  /// A file in more pieces than this, of less than `joinAverage` bytes each, is joined.
  private static let joinCount = 64
  private static let joinAverage: Int64 = 16_384
  /// Bytes: a longer file stays as it is.
  private static let joinLimit: Int64 = 64 << 20

  /// Stores the content of a file in very many small pieces anew, in whole records. For the last
  /// handle; does nothing where it is not worth it, or where somebody writes meanwhile.
  func joinPieces() throws(FSError) {
    let (pieces, version, size) = space.read { catalog in
      let state = catalog.state(index)
      let isScattered =
        catalog.extentCount(of: index) > FileContent.joinCount
        && state.size <= FileContent.joinLimit && state.links > 0
      let pieces = isScattered ? catalog.extents(of: index, from: 0, to: state.size) : []
      return (pieces, state.contentVersion, state.size)
    }
    let total = pieces.reduce(0) { $0 + $1.length }
    if pieces.isEmpty || total / Int64(pieces.count) >= FileContent.joinAverage { return }
    var joined = ExtentMap()
    for stretch in FileContent.stretches(of: pieces) {
      do throws(StoreError) {
        let extent = try restore(stretch, fileLength: size)
        joined.replace(from: extent.offset, to: extent.end, with: [extent])
      } catch {
        abandon(joined.extents)
        throw FSError(error)
      }
    }
    monitor.withLock { state in
      space.change { catalog in
        if state.isClean && catalog.state(index).contentVersion == version {
          catalog.placeExtents(joined.extents, of: index)
        } else {
          for extent in joined.extents { catalog.letGo(extent) }
        }
      }
    }
  }

  private func abandon(_ extents: [Extent]) {
    space.change { catalog in
      for extent in extents { catalog.letGo(extent) }
    }
  }

  /// Reads a stretch without holes of at most one record, and stores it as one.
  private func restore(_ pieces: [Extent], fileLength: Int64) throws(StoreError) -> Extent {
    let offset = pieces[0].offset
    let length = Int(pieces[pieces.count - 1].end - offset)
    let chunk = ScratchRecord(byteCount: length)
    try unsafe space.fill(chunk.content, at: offset, from: pieces)
    return try unsafe space.append(
      chunk.content, of: inode, at: offset, fileLength: fileLength)
  }

  /// Pieces that follow one another without a gap, cut at multiples of a record's length.
  private static func stretches(of pieces: [Extent]) -> [[Extent]] {
    let limit = Int64(ChunkRange.chunkByteCount)
    var stretches: [[Extent]] = []
    for piece in pieces {
      var from = piece.offset
      while from < piece.end {
        let to = min(piece.end, (from / limit + 1) * limit)
        let part = piece.clipped(from: from, to: to)
        if let last = stretches.last?.last, last.end == from, from % limit != 0 {
          stretches[stretches.count - 1].append(part)
        } else {
          stretches.append([part])
        }
        from = to
      }
    }
    return stretches
  }
}
