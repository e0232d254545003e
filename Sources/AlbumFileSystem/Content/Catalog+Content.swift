import AlbumFormat
import AlbumModel
import AlbumStore

extension Catalog {
  /// The inode with a number; `.stale` where there is none.
  func require(_ inode: InodeNumber) throws(FSError) -> InodeIndex {
    guard let index = index(of: inode) else {
      throw FSError(.stale, "no inode \(inode.rawValue)")
    }
    return index
  }

  /// Lets a file's content lie in `new`, held extents in order, and leaves the rest as it is.
  mutating func placeExtents(_ new: [Extent], of index: InodeIndex) {
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
}
