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
    let (version, size, count) = space.read { catalog in
      let state = catalog.state(index)
      let isSmall = state.size <= FileContent.joinLimit && state.links > 0
      return (state.contentVersion, state.size, isSmall ? catalog.extentCount(of: index) : 0)
    }
    if count <= FileContent.joinCount { return }
    let pieces =
      space.extents(from: 0, to: size) { catalog in
        catalog.state(index).contentVersion == version ? index : nil
      } ?? []
    let total = pieces.reduce(0) { $0 + $1.length }
    if pieces.isEmpty || total / Int64(pieces.count) >= FileContent.joinAverage { return }
    // Pieces with holes between them would only be copied.
    let stretches = FileContent.stretches(of: pieces)
    if stretches.count > pieces.count / 2 { return }
    var joined: [Extent] = []
    for stretch in stretches {
      do throws(StoreError) {
        joined.append(try restore(stretch, fileLength: size))
      } catch {
        abandon(joined[...])
        throw FSError(error)
      }
    }
    try place(joined, version)
  }

  /// Lets the file lie in `joined`, a slice at a time: its bytes are the same whichever of them are
  /// placed.
  private func place(_ joined: [Extent], _ version: UInt64) throws(FSError) {
    var rest = joined[...]
    while !rest.isEmpty {
      let slice = rest.prefix(Catalog.extentsPerSlice)
      let isPlaced = monitor.withLock { state in
        space.change { catalog in
          let isSame = state.isClean && catalog.state(index).contentVersion == version
          if isSame { catalog.placeExtents(Array(slice), of: index) }
          return isSame
        }
      }
      if !isPlaced { return abandon(rest) }
      rest = rest.dropFirst(slice.count)
      do throws(FSError) { try frameIfCrowded() } catch {
        abandon(rest)
        throw error
      }
    }
  }

  private func abandon(_ extents: ArraySlice<Extent>) {
    var rest = extents
    while !rest.isEmpty {
      let slice = rest.prefix(Catalog.extentsPerSlice)
      space.change { catalog in
        for extent in slice { catalog.letGo(extent) }
      }
      rest = rest.dropFirst(slice.count)
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
