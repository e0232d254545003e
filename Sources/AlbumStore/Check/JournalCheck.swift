import AlbumFormat
import AlbumModel

/// Whether every frame that was on disk opens, also those that only the former checkpoint needs.
struct JournalCheck: Sendable {
  /// Segments in which frames are missing, how many, and whether they were there.
  private(set) var missingFrames: [(segment: SegmentNumber, count: Int, isDamage: Bool)] = []
  /// Segments of which neither head opens.
  private(set) var headless: [SegmentNumber] = []
  /// Segments of which one of the two heads opens, and was not torn by a crash at their birth.
  private(set) var singleHeads: [SegmentNumber] = []
  /// Segments that should be there.
  private(set) var missingSegments: [SegmentNumber] = []
  private(set) var segmentCount = 0

  init(_ recovery: inout Recovery, _ salvaged: SalvageReport) throws(StoreError) {
    let needed = salvaged.checkpoints.map(\.firstJournal).min() ?? SegmentNumber(0)
    let before = salvaged.checkpoints.map(\.lastFrame).min() ?? .none
    for link in salvaged.chain where link.number >= needed {
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
      let found = scan.frames.filter { $0.frame.number > lower && $0.frame.number <= upper }
      let count = upper > lower ? Int(upper.rawValue - lower.rawValue) : 0
      if scan.head != nil, found.count < count {
        missingFrames.append(
          (
            link.number, count - found.count,
            scan.seal != nil
              || !scan.isEndUnwritten && !scan.frames.contains(where: \.followsUnwritten)
          ))
      }
    }
    headless = salvaged.headless.filter { $0 >= needed }
    missingSegments = salvaged.missing.filter { $0 >= needed }
  }
}
