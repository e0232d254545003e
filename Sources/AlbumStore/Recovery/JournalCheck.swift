import AlbumFormat
package import AlbumModel

/// Whether every frame that was on disk opens, also those that only the former checkpoint needs.
package struct JournalCheck: Sendable {
  /// Segments in which frames are missing, how many, and whether they were there.
  package private(set) var missingFrames: [(segment: SegmentNumber, count: Int, isDamage: Bool)] =
    []
  /// Segments of which neither head opens.
  package private(set) var headless: [SegmentNumber] = []
  /// Segments of which one of the two heads opens, and was not torn by a crash at their birth.
  package private(set) var singleHeads: [SegmentNumber] = []
  /// Segments that should be there.
  package private(set) var missingSegments: [SegmentNumber] = []
  package private(set) var segmentCount = 0

  init(_ recovery: inout Recovery, _ salvaged: SalvageReport) throws(StoreError) {
    let needed = salvaged.checkpoints.map(\.firstJournal).min() ?? SegmentNumber(0)
    let before = salvaged.checkpoints.map(\.lastFrame).min() ?? .none
    for link in salvaged.chain
    where link.number >= needed && !salvaged.missing.contains(link.number) {
      let scan = try recovery.scan(link.number)
      segmentCount += 1
      if scan.headCount == 1, scan.wasBegun {
        singleHeads.append(link.number)
      }
      let lower = max(before, scan.head?.cutFrame ?? .none)
      // Of one that is not the newest, and whose successor is not there, nobody knows where it ended.
      let isNewest = link.number == salvaged.chain.last?.number
      let upper =
        link.cut ?? (isNewest ? max(scan.provenFrame, recovery.lastFrame) : scan.provenFrame)
      let missing = scan.missingFrames(behind: lower, upTo: upper)
      if scan.head != nil, missing > 0 {
        missingFrames.append(
          (
            link.number, missing,
            scan.seal != nil
              || !scan.isEndUnwritten && !scan.frames.contains(where: \.followsUnwritten)
          ))
      }
    }
    headless = salvaged.headless.filter { $0 >= needed }
    missingSegments = salvaged.missing.filter { $0 >= needed }
  }
}
