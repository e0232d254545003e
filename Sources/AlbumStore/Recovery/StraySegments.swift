import AlbumFormat
import AlbumModel
import AlbumSecrets

/// Data segments of the space that exist in the store and that its catalog does not know.
struct StraySegments: Equatable, Sendable {
  /// Segments of sessions that crashed before a frame named the segments. They are garbage.
  private(set) var leftOver: [SegmentNumber: SegmentBirth] = [:]
  /// Segments of another copy of the store, or of a part of the journal that is missing. They may be needed.
  private(set) var unknown: [SegmentNumber: SegmentBirth] = [:]

  /// `crashed` are the sessions that may have left segments behind.
  init(
    _ catalog: borrowing Catalog, in listing: SegmentListing, of crashed: Set<SegmentBirth>
  ) {
    for (id, found) in listing.own where id.kind == .data {
      for one in found where catalog.segments.accounts[id.number]?.birth != one.birth {
        if crashed.contains(one.birth), catalog.segments.accounts[id.number] == nil {
          leftOver[id.number] = one.birth
        } else {
          unknown[id.number] = one.birth
        }
      }
    }
  }

  /// Returns true if segments prove that the journal lacks its end. Such a segment has a number after all
  /// that the catalog assigned, and a seal of the end of a session, which is written only when the frames
  /// that name the segment are on disk.
  ///
  /// `newest` is the last session that the journal knows, or nil if its journal is known to be whole. Any
  /// sealed stray segment of that session is a proof, because no other session removed it.
  mutating func proveLostJournal(
    behind next: SegmentNumber, of newest: SegmentBirth?, ofOthers foreign: Set<SegmentBirth>,
    files: SegmentFiles
  ) -> Bool {
    for (number, birth) in leftOver.merging(unknown, uniquingKeysWith: { one, _ in one })
    where (number >= next || birth == newest) && !foreign.contains(birth) {
      let id = SegmentID(kind: .data, number: number)
      if files.birth(id) != birth { continue }
      do throws(StoreError) {
        if try files.seal(of: id)?.reason == .endOfSession { return true }
      } catch {
        // The disk cannot read the segment, so it may be needed.
        leftOver[number] = nil
        unknown[number] = birth
      }
    }
    return false
  }
}
