package import AlbumFormat
package import AlbumModel

extension Catalog {
  /// Where the content in [from, to) lies; what is in none of the extents is a hole.
  package func extents(of index: InodeIndex, from: Int64, to: Int64) -> [Extent] {
    let block = inodes[index].extents
    var result: [Extent] = []
    var position = extents.firstIndex(block, endingBehind: from)
    while position < Int(block.count) {
      let extent = extents.extent(block, position)
      if extent.offset >= to { break }
      result.append(extent.clipped(from: max(extent.offset, from), to: min(extent.end, to)))
      position += 1
    }
    return result
  }

  /// How many extents a file is in.
  package func extentCount(of index: InodeIndex) -> Int { Int(inodes[index].extents.count) }

  /// Content in [from, to) is from now on in `new`, which were held before (`hold`), and else a
  /// hole. What is no longer referred to is let go.
  package mutating func replaceExtents(
    of index: InodeIndex, from: Int64, to: Int64, with new: [Extent]
  ) {
    if from >= to { return }
    noteSharers(index, new)
    if !appendExtents(index, from, new) {
      var map = ExtentMap(extents.all(inodes[index].extents))
      for extent in map.replace(from: from, to: to, with: new) { segments.letGo(extent) }
      extents.replace(&inodes[index].extents, with: map.extents)
    }
    noteExtents(index, from, to)
  }

  /// Lets a file's content lie in `new`, held extents in order, and leaves the rest as it is.
  package mutating func placeExtents(_ new: [Extent], of index: InodeIndex) {
    let runs = Catalog.runs(of: new)
    // Each call rebuilds the file's list: many scattered pieces go in together with what lies
    // between them.
    if runs.count > 16, let first = new.first, let last = new.last {
      var map = ExtentMap(extents(of: index, from: first.offset, to: last.end))
      for extent in map.extents { hold(extent) }
      for run in runs {
        let range = new[run]
        for dropped in map.replace(
          from: range.first!.offset, to: range.last!.end, with: Array(range))
        {
          letGo(dropped)
        }
      }
      replaceExtents(of: index, from: first.offset, to: last.end, with: map.extents)
      return
    }
    for run in runs {
      let range = new[run]
      replaceExtents(
        of: index, from: range.first!.offset, to: range.last!.end, with: Array(range))
    }
  }

  /// Stretches of extents without a gap between them.
  private static func runs(of extents: [Extent]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start = 0
    for index in extents.indices.dropFirst() where extents[index].offset != extents[index - 1].end {
      runs.append(start..<index)
      start = index
    }
    if !extents.isEmpty { runs.append(start..<extents.count) }
    return runs
  }

  /// The usual case, writing on at the end, looks at the last extent alone.
  private mutating func appendExtents(_ index: InodeIndex, _ from: Int64, _ new: [Extent]) -> Bool {
    var block = inodes[index].extents
    if block.count > 0, extents.extent(block, Int(block.count) - 1).end > from { return false }
    for extent in new {
      if block.count > 0 {
        let last = extents.extent(block, Int(block.count) - 1)
        if last.isContinued(by: extent) {
          extents.setLast(block, to: last.joined(with: extent))
          continue
        }
      }
      extents.append(extent, to: &block)
    }
    inodes[index].extents = block
    return true
  }

  /// Bytes of content that are not holes.
  func allocated(_ index: InodeIndex) -> Int64 {
    let block = inodes[index].extents
    var sum: Int64 = 0
    for position in 0..<Int(block.count) { sum += extents.extent(block, position).length }
    return sum
  }

  /// Counts sealed content as alive before an extent of the catalog points to it.
  package mutating func hold(_ extent: Extent) {
    if extent.isLost { return }
    switch segments.accounts[extent.segment]?.state {
    case nil: changes.segments.insert(extent.segment)
    // Its content went in the moment between the sealing of this and now.
    case .retired: setState(of: extent.segment, to: .living)
    default: break
    }
    segments.hold(extent)
  }

  /// Gives up held content that will not be in the catalog.
  package mutating func letGo(_ extent: Extent) { segments.letGo(extent) }

  package mutating func setState(
    of segment: SegmentNumber, to state: SegmentState, retiredAt: Int64 = 0
  ) {
    segments.set(segment, state, retiredAt: retiredAt)
    changes.segments.insert(segment)
  }

  package mutating func setProperty(_ property: SpaceProperty, to value: UInt64) {
    properties[property] = value
    changes.properties.insert(property)
  }
}
