import AlbumFormat
import AlbumModel

// The catalog's part in emptying segments. Between the look at all extents and the move others may
// change files, and share content of the segments that are being emptied. So the catalog notes who
// gets such content meanwhile, and the move looks at what extents say when it is applied.

/// Which segments are being emptied.
struct Emptying {
  var segments: Set<SegmentNumber> = []
  /// Inodes that got content in them since that began.
  var sharers: Set<InodeIndex> = []
}

extension Catalog {
  /// From now on `applyMoves` knows who shares content of these segments. Answers a number to name
  /// this by.
  mutating func beginEmptying(_ segments: Set<SegmentNumber>) -> Int {
    let number = (emptyings.keys.max() ?? 0) + 1
    emptyings[number] = Emptying(segments: segments)
    return number
  }

  mutating func endEmptying(_ number: Int) { emptyings[number] = nil }

  /// Called for extents that a file gets.
  mutating func noteSharers(_ index: InodeIndex, _ extents: [Extent]) {
    for (number, emptying) in emptyings
    where extents.contains(where: { emptying.segments.contains($0.segment) }) {
      emptyings[number]?.sharers.insert(index)
    }
  }

  /// The extents of a slice of inodes that point into the segments being emptied.
  borrowing func references(of range: Range<UInt32>, _ number: Int) -> [Reference] {
    let segments = emptyings[number]?.segments ?? []
    var found: [Reference] = []
    for raw in range {
      guard let index = inodes.occupant(raw) else { continue }
      let block = inodes[index].extents
      for position in 0..<Int(block.count) {
        let extent = extents.extent(block, position)
        if segments.contains(extent.segment) {
          found.append(Reference(inode: inodes[index].state.number, extent: extent))
        }
      }
    }
    return found
  }

  /// Lets every extent that points to content which was copied point to the copy, in one step of
  /// history for all who share it. What an extent says *now* decides: one that was replaced meanwhile
  /// points elsewhere and stays. `inodes` are those that referred to such content when it was looked
  /// for. The copies are held once by the caller, who lets them go afterwards.
  mutating func applyMoves(
    _ relocations: Relocations, of inodes: Set<InodeNumber>, _ number: Int
  ) {
    var places = emptyings[number]?.sharers ?? []
    for inode in inodes {
      if let index = index(of: inode) { places.insert(index) }
    }
    for index in places where self.inodes.occupant(index.rawValue) != nil {
      applyMoves(relocations, of: index)
    }
  }

  private mutating func applyMoves(_ relocations: Relocations, of index: InodeIndex) {
    var moved: [Extent] = []
    for extent in extents.all(inodes[index].extents) { moved += relocations.moved(extent) ?? [] }
    if moved.isEmpty { return }
    for extent in moved { hold(extent) }
    placeExtents(moved, of: index)
  }

  /// What the crash harness does instead: the content is put where it was when it was copied, whatever
  /// lies there now.
  mutating func applyBlindly(_ relocations: Relocations, to references: [Reference]) {
    for reference in references {
      guard let index = index(of: reference.inode), let moved = relocations.moved(reference.extent)
      else { continue }
      for extent in moved { hold(extent) }
      let extent = reference.extent
      replaceExtents(of: index, from: extent.offset, to: extent.end, with: moved)
    }
  }
}
