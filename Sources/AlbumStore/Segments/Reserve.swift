import AlbumFormat
import AlbumModel
import Posix

// What is kept for a full disk. Files must be able to go when there is no room left, and going takes
// room: frames need the journal's next segment, and what was taken over before the disk was full
// needs the data segment that it was sealed for. So each space keeps segments of random bytes, made
// before its first data segment, named by its keys like any other and as random as any other. When a
// segment cannot be written for want of room, one of them is removed first. No new data segment is
// begun for users until they are all there again; that they can be made shows that there is room.
// Checkpoints do not take of the reserve: they can wait, and removal cannot.

extension SegmentFiles {
  /// One is spent on what was taken over before the disk was full; two more are what a checkpoint and the
  /// journal segment that names it take, which give older ones back (`Durability.makeJournalFit`).
  static let reservedSegments: UInt32 = 3

  static let reserved: [SegmentID] = {
    (1...reservedSegments).map { SegmentID(kind: .reserve, number: SegmentNumber($0)) }
  }()

  /// Makes what is missing of the reserve. Throws `.noSpace` or `.quotaExceeded` where the disk is
  /// too full for it. Cheap when all is there.
  func fillReserve() throws(StoreError) {
    try reserve.withLock { present throws(StoreError) in
      var made = present ?? reserveFound()
      defer { present = made }
      for raw in 1...SegmentFiles.reservedSegments where !made.contains(SegmentNumber(raw)) {
        try makeReserved(SegmentID(kind: .reserve, number: SegmentNumber(raw)))
        made.insert(SegmentNumber(raw))
      }
    }
  }

  /// Gives the room of one reserved segment back to the disk; answers whether there was one.
  func spendReserve() -> Bool {
    reserve.withLock { present in
      var left = present ?? reserveFound()
      defer { present = left }
      guard let number = left.popFirst() else { return false }
      do throws(StoreError) { try unlinkReserved(number) } catch { return false }
      return true
    }
  }

  /// How many segments of the reserve are missing.
  var missingReserve: Int64 {
    reserve.withLock { present in
      let found = present ?? reserveFound()
      present = found
      return Int64(SegmentFiles.reservedSegments) - Int64(found.count)
    }
  }

  private func reserveFound() -> Set<SegmentNumber> {
    var found: Set<SegmentNumber> = []
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
    // One that a full disk or a power cut left short.
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
