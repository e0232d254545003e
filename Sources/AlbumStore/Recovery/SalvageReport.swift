package import AlbumFormat
package import AlbumModel

/// What a salvage found of journal and checkpoints, beyond what a mount needs to know.
package struct SalvageReport: Sendable {
  /// The journal segments that were replayed, oldest first, and the frame behind which each is dead.
  var chain: [JournalLink] = []
  package var newestJournal: SegmentNumber? { chain.last?.number }
  /// Those of which neither head opens.
  package internal(set) var headless: [SegmentNumber] = []
  /// Those that a later one names and that are not there.
  package internal(set) var missing: [SegmentNumber] = []
  /// There is no journal segment at all.
  package internal(set) var hasNoJournal = false
  /// No checkpoint was whole, and the journal does not begin with the space: the catalog is what
  /// could be gathered.
  package internal(set) var isIncomplete = false
  /// Nothing stated the root.
  package internal(set) var rootWasLost = false
  /// Checkpoints that the newest head names, and which of them are damaged.
  package internal(set) var checkpoints: [CheckpointReference] = []
  package internal(set) var damagedCheckpoints: [CheckpointReference] = []
  /// Inodes that the journal says are gone: what is left of their content is garbage.
  package private(set) var gone: Set<InodeNumber> = []
  package internal(set) var lost = ReplayFindings()

  mutating func note(_ item: JournalItem) {
    if case .inodeGone(let number) = item { gone.insert(number) }
  }
}

extension Catalog {
  /// Before the end of a replay that found things missing: what is known in part is kept. A directory
  /// with names in it and a file with content are stated, the root in any case. Answers whether the
  /// root was lost.
  mutating func keepWhatIsExpected() -> Bool {
    let rootWasLost = inodes.find(.root).map { inodes[$0].isExpected } ?? true
    _ = expect(.root, .directory)
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw), inodes[index].isExpected else { continue }
      let record = inodes[index]
      let isRoot = record.state.number == .root
      if isRoot || record.directory != .max && directories[record.directory].count > 0 {
        inodes[index].state.mode = UInt16(FileKind.directory.rawValue) << 12 | 0o755
      } else if let last = extents.last(record.extents) {
        inodes[index].state.mode = UInt16(FileKind.regular.rawValue) << 12 | 0o644
        inodes[index].state.size = last.end
      } else {
        continue
      }
      inodes[index].state.links = 1
      inodes[index].isExpected = false
    }
    return rootWasLost
  }
}
