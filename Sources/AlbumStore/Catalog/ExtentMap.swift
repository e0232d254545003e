package import AlbumFormat
internal import AlbumModel

/// A few extents of one file in the order of their offsets, without overlaps: pure arithmetic. Each
/// insertion moves the extents after it; for very many, `ExtentArena` is better. Not thread-safe.
package struct ExtentMap: Equatable, Sendable {
  package private(set) var extents: [Extent]

  package init(_ extents: [Extent] = []) { self.extents = extents }

  /// Takes each byte from the last of `layers` that has it, otherwise from `base`. There may be very many
  /// layers.
  package init(_ base: ExtentMap, under layers: [Extent]) {
    var arena = ExtentArena()
    var all = ExtentBlock()
    _ = arena.replace(&all, from: 0, to: .max, with: base.extents)
    for layer in layers {
      _ = arena.replace(&all, from: layer.offset, to: layer.end, with: [layer])
    }
    self.init(arena.all(all))
  }

  package var isEmpty: Bool { extents.isEmpty }

  /// Places the content in [from, to) into `new` (in order, within the range); the rest becomes a hole.
  /// Returns the replaced extents, or parts of such.
  @discardableResult
  package mutating func replace(from: Int64, to: Int64, with new: [Extent]) -> [Extent] {
    let lower = firstIndex(endingBehind: from)
    var upper = lower
    var dropped: [Extent] = []
    var middle: [Extent] = []
    var after: [Extent] = []
    while upper < extents.count, extents[upper].offset < to {
      let old = extents[upper]
      if old.offset < from { middle.append(old.clipped(from: old.offset, to: from)) }
      dropped.append(old.clipped(from: max(old.offset, from), to: min(old.end, to)))
      if old.end > to { after.append(old.clipped(from: to, to: old.end)) }
      upper += 1
    }
    for extent in new + after { ExtentMap.append(extent, to: &middle) }
    // The neighbours may now be continuous.
    var start = lower
    if start > 0, let first = middle.first, extents[start - 1].isContinued(by: first) {
      start -= 1
      middle[0] = extents[start].joined(with: first)
    }
    var end = upper
    if end < extents.count, let last = middle.last, last.isContinued(by: extents[end]) {
      middle[middle.count - 1] = last.joined(with: extents[end])
      end += 1
    }
    extents.replaceSubrange(start..<end, with: middle)
    return dropped
  }

  /// The extents in [from, to), clipped.
  package func overlapping(from: Int64, to: Int64) -> [Extent] {
    var result: [Extent] = []
    var index = firstIndex(endingBehind: from)
    while index < extents.count, extents[index].offset < to {
      let extent = extents[index]
      result.append(extent.clipped(from: max(extent.offset, from), to: min(extent.end, to)))
      index += 1
    }
    return result
  }

  /// The index of the first extent that ends after `offset`.
  package func firstIndex(endingBehind offset: Int64) -> Int {
    extents.partitioningIndex { $0.end > offset }
  }

  /// Appends an extent to a list, joined with the last one if it continues that.
  static func append(_ extent: Extent, to list: inout [Extent]) {
    if let last = list.last, last.isContinued(by: extent) {
      list[list.count - 1] = last.joined(with: extent)
    } else {
      list.append(extent)
    }
  }
}

extension Extent {
  /// This extent and `next`, which continues it, as one.
  func joined(with next: Extent) -> Extent {
    var extent = self
    extent.length += next.length
    return extent
  }
}
