import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

extension FileContent {
  /// A file in more pieces than this, with fewer than `joinAverage` bytes each, is joined.
  private static let joinCount = 64
  private static let joinAverage: Int64 = 16_384
  /// A file longer than this, in bytes, stays as it is.
  private static let joinLimit: Int64 = 64 << 20

  /// Stores the content of a file in very many small pieces anew, in whole records. For the last handle.
  /// Does nothing if that is not worthwhile, or if a caller writes meanwhile.
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
    var joined = HeldExtents(in: space)
    for stretch in stretches {
      do throws(StoreError) { joined.add(try restore(stretch, fileLength: size)) } catch {
        throw FSError(error)
      }
    }
    try place(&joined, version)
  }

  /// Redirects the file to `joined`, one slice at a time. The bytes of the file stay the same.
  private func place(_ joined: inout HeldExtents, _ version: UInt64) throws(FSError) {
    while !joined.isEmpty {
      let isPlaced = monitor.withLock { state in
        space.change { catalog in
          let isSame = state.isClean && catalog.state(index).contentVersion == version
          if isSame { catalog.placeExtents(joined.take(Catalog.extentsPerSlice), of: index) }
          return isSame
        }
      }
      if !isPlaced { return }
      try frameIfCrowded()
    }
  }

  /// Reads a range without holes, of at most one record, and stores it as one record.
  private func restore(_ pieces: [Extent], fileLength: Int64) throws(StoreError) -> HeldExtents {
    let offset = pieces[0].offset
    let length = Int(pieces[pieces.count - 1].end - offset)
    let chunk = ScratchRecord(byteCount: length)
    try unsafe space.fill(chunk.content, at: offset, from: pieces)
    return try unsafe space.append(
      chunk.content, of: inode, at: offset, fileLength: fileLength)
  }

  /// Adjacent pieces, cut at multiples of a record's length.
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
