package import AlbumFormat
package import AlbumModel

// Changes that only a repair makes: what the file system does leaves no such contradictions.

extension Catalog {
  /// Permits a repair to hold the catalog for as long as it takes, because no other code uses the space.
  package func permitLongHold() { extents.steps.permit(.max / 2) }

  /// Sets the link count of an inode without a name to zero. The caller names it next.
  package mutating func dropLinks(of index: InodeIndex) {
    inodes[index].state.links = 0
    markDirty(index, .state)
  }

  /// Restores a file from its records, under its former number, without a name and pinned once.
  package mutating func revive(
    _ content: [Extent], size: Int64, as number: InodeNumber, like model: InodeState,
    time: Timestamp
  ) -> InodeIndex {
    var state = InodeState(number: number, kind: .regular, permissions: 0o644)
    state.owner = model.owner
    state.group = model.group
    state.size = size
    state.contentVersion = 1
    state.accessed = time
    state.modified = time
    state.changed = time
    var record = InodeRecord(state: state)
    record.pins = 1
    let index = inodes.insert(record)
    markDirty(index, .state)
    shareExtents(content, with: index)
    return index
  }

  /// Recounts the live bytes of each segment from the extents.
  package mutating func correctLedger() {
    while letGoOfDetached(limit: Catalog.extentsPerSlice) {}
    var live: [SegmentNumber: Int64] = [:]
    for use in recordUses() { live[use.extent.segment, default: 0] += use.extent.length }
    for (segment, count) in live {
      let account = segments.accounts[segment]
      segments.correct(segment, live: count)
      if account == nil || account?.state == .retired { setState(of: segment, to: .living) }
    }
    for (segment, account) in segments.accounts where live[segment] == nil && account.live != 0 {
      segments.correct(segment, live: 0)
    }
  }
}

extension Catalog {
  /// For each file that shows an earlier version, the newest version of it that was left out.
  package borrowing func newestLeftOut() -> [InodeNumber: InodeNumber] {
    var byPath: [String: InodeNumber] = [:]
    forEachInode { index, state in
      guard state.marks.contains(.leftOut), let path = leftOutNote(of: index)?.path else { return }
      byPath[path] = max(byPath[path] ?? state.number, state.number)
    }
    var newest: [InodeNumber: InodeNumber] = [:]
    for (path, leftOut) in byPath {
      var place = index(of: .root)
      for name in path.utf8.split(separator: UInt8(ascii: "/")) {
        let name = try? FileName(Array(name))
        place = place.flatMap { parent in name.flatMap { child($0, of: parent) } }
      }
      if let place { newest[state(place).number] = leftOut }
    }
    return newest
  }
}

extension Catalog {
  /// Every stretch of every file, in the order of segments and of places in them.
  func recordUses() -> [RecordUse] {
    var uses: [RecordUse] = []
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw) else { continue }
      for extent in extents.all(inodes[index].extents) where !extent.isLost {
        uses.append(RecordUse(inode: inodes[index].state.number, extent: extent))
      }
    }
    uses.sort {
      ($0.extent.segment.rawValue, $0.extent.grid) < ($1.extent.segment.rawValue, $1.extent.grid)
    }
    return uses
  }
}
