import AlbumFormat
package import AlbumModel

/// Finds frames that were on disk and cannot be decrypted, including those that only the former checkpoint
/// needs.
package struct JournalCheck: Sendable {
  /// Segments in which frames are missing, and their number. `isDamage` is false if a copy may have been made
  /// before they were written.
  package private(set) var missingFrames: [(segment: SegmentNumber, count: Int, isDamage: Bool)] =
    []
  /// Segments with two unreadable heads.
  package private(set) var headless: [SegmentNumber] = []
  /// Segments with one unreadable head that no crash at the birth of the segment tore.
  package private(set) var singleHeads: [SegmentNumber] = []
  /// Segments that later ones name and that do not exist.
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
      // Nothing shows where an earlier segment ended if its successor is missing: only proven frames count.
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
