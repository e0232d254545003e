import AlbumFormat
import AlbumModel
import Posix

// The reserve for a full disk. On a full disk users must be able to remove files, and that takes room:
// frames need the journal's next segment, and content that was accepted before the disk was full needs its
// data segment. So each space keeps segments of random bytes, made before its first data segment, with names
// from its keys like any other. If a segment cannot be written for want of room, albumfs first removes one
// of them. It begins no new data segment for users until the reserve is complete again; completing it shows
// that there is room. Checkpoints do not use the reserve: they can wait, and removals cannot.
//
// btrfs shows the room of an unlinked file only with its next commit, and takes room even for a write over
// old bytes. So whoever finds no room first makes the disk commit what was removed (`settleRemovals`), and a
// segment of the reserve counts as spent when that is done.
//
// What is written for a store that lies elsewhere waits here only until it is sent. That makes room, and
// there is no reserve.

extension SegmentFiles {
  /// One for content that was accepted before the disk was full. Two more for a checkpoint and the journal
  /// segment that names it, which release older ones (`Durability.makeJournalFit`).
  static let reservedSegments: UInt32 = 3

  static let reserved: [SegmentID] = {
    (1...reservedSegments).map { SegmentID(kind: .reserve, number: SegmentNumber($0)) }
  }()

  /// Completes the reserve. Throws `.noSpace` or `.quotaExceeded` if the disk is too full. Cheap if nothing
  /// is missing.
  func fillReserve() throws(StoreError) {
    if directory.relay != nil { return }
    try reserve.withLock { present throws(StoreError) in
      var made = present ?? reserveFound()
      defer { present = made }
      for raw in 1...SegmentFiles.reservedSegments where !made.contains(SegmentNumber(raw)) {
        try settlingRemovals { () throws(StoreError) in
          try makeReserved(SegmentID(kind: .reserve, number: SegmentNumber(raw)))
        }
        made.insert(SegmentNumber(raw))
      }
    }
  }

  /// Returns the room of one reserved segment to the disk, which shows it then. Returns false if there was
  /// none.
  func spendReserve() -> Bool {
    reserve.withLock { present in
      var left = present ?? reserveFound()
      defer { present = left }
      guard let number = left.popFirst() else { return false }
      do throws(StoreError) { try unlinkReserved(number) } catch { return false }
      _ = settleRemovals()
      return true
    }
  }

  /// Runs `body`, and again as long as a disk without room gets some back. `spendsReserve`: it gets that of
  /// the reserve, too.
  func findingRoom(spendsReserve: Bool, _ body: () throws(StoreError) -> Void) throws(StoreError) {
    while true {
      do throws(StoreError) { return try body() } catch {
        if !error.isShortage { throw error }
        if !settleRemovals(), !(spendsReserve && spendReserve()) { throw error }
      }
    }
  }

  /// The number of missing segments of the reserve.
  var missingReserve: Int64 {
    if directory.relay != nil { return 0 }
    return reserve.withLock { present in
      let found = present ?? reserveFound()
      present = found
      return Int64(SegmentFiles.reservedSegments) - Int64(found.count)
    }
  }

  private func reserveFound() -> Set<SegmentNumber> {
    var found: Set<SegmentNumber> = []
    if directory.relay != nil { return found }
    for raw in 1...SegmentFiles.reservedSegments {
      let id = SegmentID(kind: .reserve, number: SegmentNumber(raw))
      guard let file = try? directory.open(path(id), .read), let size = try? file.size() else {
        continue
      }
      if size == Int64(segmentSize) { found.insert(id.number) }
    }
    return found
  }

  private func makeReserved(_ id: SegmentID) throws(StoreError) {
    // Removes a segment that a full disk or a power cut left short.
    try unlinkReserved(id.number)
    bear(id)
    let file = try create(id)
    do throws(Errno) {
      try Chaff.fill(file, segmentSize)
    } catch {
      try? directory.remove(path(id))
      throw StoreError(writing: path(id), error)
    }
  }
}
