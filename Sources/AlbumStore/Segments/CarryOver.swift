import AlbumFormat
import AlbumModel
import AlbumSecrets
import Logging
import Posix

// Moving living content out of a segment: its records are opened and sealed anew elsewhere, since
// the associated data binds them to their place. A move is framed only after its copies are synced,
// and applied only to extents that still point where they did; what was not applied is let go.

extension Space {
  /// Share of a segment that must live for it to stay as it is, random tail included.
  private static let worthKeeping = 0.75

  /// Moves what lives in a half-filled segment of an earlier session, so that it can be retired.
  func carryOver(_ number: SegmentNumber) throws(StoreError) {
    let live = catalog.withLock { $0.segments.accounts[number]?.live ?? 0 }
    if Double(live) >= Double(files.segmentSize) * Space.worthKeeping {
      change { $0.setState(of: number, to: .living) }
      return
    }
    do throws(StoreError) {
      try moveLiving(outOf: number)
    } catch {
      // What does not open stays where it is, and so does its segment.
      guard error.code == .damaged || error.code == .missing else { throw error }
      options.logger.error("not carried over: \(error)")
      change { $0.setState(of: number, to: .living) }
    }
  }

  /// One piece of a file that lives in the segment to be emptied.
  private struct Piece {
    var inode: InodeNumber
    var old: Extent
    var new: [Extent] = []
  }

  func moveLiving(outOf number: SegmentNumber) throws(StoreError) {
    var pieces = catalog.withLock { $0.extents(in: number) }.map { Piece(inode: $0, old: $1) }
    for place in pieces.indices { pieces[place].new = try copy(pieces[place]) }
    try flushContent()
    try files.sync([.data])
    let copied = pieces
    change { catalog in
      for piece in copied {
        let isUnchanged = options.omitting.contains(.comparedMove)
        if isUnchanged || catalog.pointsStill(piece.inode, piece.old) {
          let index = catalog.index(of: piece.inode)!
          catalog.replaceExtents(
            of: index, from: piece.old.offset, to: piece.old.end, with: piece.new)
        } else {
          for extent in piece.new { catalog.letGo(extent) }
        }
      }
    }
  }

  private func copy(_ piece: Piece) throws(StoreError) -> [Extent] {
    let limit = Int(DataRecord.contentLimit)
    let headroom = ReadHeadroom.byteCount
    let buffer = SegmentImage(byteCount: headroom + limit)
    defer { unsafe erase(buffer.bytes) }
    var extents: [Extent] = []
    var offset = piece.old.offset
    while offset < piece.old.end {
      let end = min(piece.old.end, offset + Int64(limit))
      let target = unsafe UnsafeMutableRawBufferPointer(
        rebasing: buffer.bytes[headroom..<headroom + Int(end - offset)])
      try unsafe read(piece.old.clipped(from: offset, to: end), into: target)
      extents.append(
        try unsafe append(target, of: piece.inode, at: offset, fileLength: piece.old.end))
      offset = end
    }
    return extents
  }
}

extension Catalog {
  /// Every extent that points into a segment, with its inode.
  func extents(in number: SegmentNumber) -> [(InodeNumber, Extent)] {
    var found: [(InodeNumber, Extent)] = []
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw) else { continue }
      for extent in extents.all(inodes[index].extents) where extent.segment == number {
        found.append((inodes[index].state.number, extent))
      }
    }
    return found
  }

  /// Whether the stretch of `extent` still lies exactly there.
  func pointsStill(_ inode: InodeNumber, _ extent: Extent) -> Bool {
    guard let index = index(of: inode) else { return false }
    return extents(of: index, from: extent.offset, to: extent.end) == [extent]
  }
}
