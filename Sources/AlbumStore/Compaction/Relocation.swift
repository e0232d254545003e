import AlbumFormat
import AlbumModel

// The content of the segments to be emptied that is copied, and the new place of each byte: pure arithmetic
// on extents.

/// An extent of a file that points into a segment to be emptied.
struct Reference {
  var inode: InodeNumber
  var extent: Extent
}

enum LivingParts {
  /// The content that these extents refer to, each byte once; shared content belongs to the extent that
  /// comes first in the segment. Sorted by file and offset, so that adjacent pieces of a file come together
  /// again.
  static func of(_ references: [Reference]) -> [Reference] {
    let ordered = references.sorted {
      ($0.extent.segment.rawValue, $0.extent.place(of: 0), $0.inode.rawValue)
        < ($1.extent.segment.rawValue, $1.extent.place(of: 0), $1.inode.rawValue)
    }
    var parts: [Reference] = []
    // The first of several overlapping extents, and how much of its content is in a part already.
    var base = ordered.first?.extent
    var covered: Int64 = 0
    for reference in ordered {
      let extent = reference.extent
      guard let distance = base?.distance(to: extent), distance < covered else {
        base = extent
        covered = extent.length
        parts.append(reference)
        continue
      }
      if distance + extent.length <= covered { continue }
      let rest = extent.clipped(from: extent.offset + covered - distance, to: extent.end)
      parts.append(Reference(inode: reference.inode, extent: rest))
      covered = distance + extent.length
    }
    return parts.sorted {
      ($0.inode.rawValue, $0.extent.offset) < ($1.inode.rawValue, $1.extent.offset)
    }
  }
}

/// Maps content to its copies.
struct Relocations {
  private struct Move {
    /// The copied content; its offset has no meaning.
    var source: Extent
    var target: Extent
  }
  /// By segment, in the order of the content.
  private var moves: [SegmentNumber: [Move]] = [:]
  private var isOrdered = true

  /// Records that `target` is a copy of `source`, of the same length.
  mutating func record(_ source: Extent, to target: Extent) {
    moves[source.segment, default: []].append(Move(source: source, target: target))
    isOrdered = false
  }

  /// To be called once, before `moved`.
  mutating func order() {
    for segment in Array(moves.keys) {
      moves[segment]?.sort { $0.source.place(of: 0) < $1.source.place(of: 0) }
    }
    isOrdered = true
  }

  /// The new places of an extent's content, in order; content that was not copied keeps its place. nil if
  /// nothing of it was copied.
  func moved(_ extent: Extent) -> [Extent]? {
    precondition(isOrdered, "relocations looked up before they were ordered")
    guard let moves = moves[extent.segment] else { return nil }
    var result: [Extent] = []
    var position: Int64 = 0
    var isMoved = false
    let last = extent.place(of: extent.length - 1)
    for move in moves[Relocations.first(in: moves, reaching: extent)...] {
      if move.source.place(of: 0) > last { break }
      guard let distance = extent.distance(to: move.source) else { continue }
      let lower = max(position, distance)
      let upper = min(extent.length, distance + move.source.length)
      if upper <= lower { continue }
      if lower > position { result.append(Relocations.part(of: extent, position, lower)) }
      let start = move.target.offset + (lower - distance)
      var copy = move.target.clipped(from: start, to: start + upper - lower)
      copy.offset = extent.offset + lower
      result.append(copy)
      position = upper
      isMoved = true
    }
    if !isMoved { return nil }
    if position < extent.length {
      result.append(Relocations.part(of: extent, position, extent.length))
    }
    return result
  }

  private static func part(of extent: Extent, _ lower: Int64, _ upper: Int64) -> Extent {
    extent.clipped(from: extent.offset + lower, to: extent.offset + upper)
  }

  /// The first move whose source ends after the start of `extent`. Sources do not overlap, so they end in
  /// the order of their starts.
  private static func first(in moves: [Move], reaching extent: Extent) -> Int {
    let place = extent.place(of: 0)
    return moves.partitioningIndex { $0.source.place(of: $0.source.length - 1) >= place }
  }
}

extension Catalog {
  /// Redirects extents in these stretches from copied content to its copy, up to about `limit` extents, and
  /// removes the finished part from the end of the stretches. The current extent decides: a replaced one
  /// points elsewhere and stays. Files that share a record may move in different steps of history, because
  /// the old record lives until no extent points to it. The caller holds the copies once and releases them
  /// afterwards.
  mutating func applyMoves(
    _ relocations: Relocations, to ranges: inout [ContentRange], limit: Int
  ) {
    var left = limit
    while left > 0, let range = ranges.popLast() {
      left -= 1
      guard let index = index(of: range.inode) else { continue }
      // One extent may become very many.
      let count = min(left + 1, 64)
      let list = extents(of: index, from: range.from, to: range.to, limit: count)
      if list.count == count, let last = list.last, last.end < range.to {
        ranges.append(range)
        ranges[ranges.count - 1].from = last.end
      }
      var moved: [Extent] = []
      for extent in list { moved += relocations.moved(extent) ?? [] }
      for extent in moved { hold(extent) }
      placeExtents(moved, of: index)
      left -= max(list.count, moved.count)
    }
  }

  /// For the crash harness: puts the moved content back into each file without comparing whether the file has
  /// changed.
  mutating func applyBlindly(_ relocations: Relocations, to references: [Reference]) {
    for reference in references {
      guard let index = index(of: reference.inode), let moved = relocations.moved(reference.extent)
      else { continue }
      let extent = reference.extent
      shareExtents(moved, with: index, from: extent.offset, to: extent.end)
    }
  }
}
