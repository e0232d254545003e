package import AlbumFormat
package import AlbumModel

/// Findings about journal and checkpoints that a check needs and a mount does not.
package struct SalvageReport: Sendable {
  /// The journal segments that were replayed, oldest first, each with the last frame that counts.
  var chain: [JournalLink] = []
  package var newestJournal: SegmentNumber? { chain.last?.number }
  /// Journal segments with two unreadable heads.
  package internal(set) var headless: [SegmentNumber] = []
  /// Journal segments that a later one names and that do not exist.
  package internal(set) var missing: [SegmentNumber] = []
  /// True if no journal segment exists.
  package internal(set) var hasNoJournal = false
  /// True if no checkpoint is whole and the journal does not begin with the space. The catalog then holds
  /// only what could be gathered.
  package internal(set) var isIncomplete = false
  /// True if nothing describes the root.
  package internal(set) var rootWasLost = false
  /// The checkpoints that the newest head names.
  package internal(set) var checkpoints: [CheckpointReference] = []
  /// The damaged ones among them. One is unfinished as `CheckpointUse` says.
  package internal(set) var damagedCheckpoints:
    [(reference: CheckpointReference, isUnfinished: Bool)] = []
  /// Inodes that the journal removes. The rest of their content is garbage.
  package private(set) var gone: Set<InodeNumber> = []
  package internal(set) var lost = ReplayFindings()

  mutating func record(_ item: JournalItem) {
    if case .inodeGone(let number) = item { gone.insert(number) }
  }
}

extension Catalog {
  /// Keeps inodes that the journal describes only in part: directories with entries, files with content, and
  /// the root in any case. Call it before the end of a replay that found something missing. Returns true if
  /// the root was lost.
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
