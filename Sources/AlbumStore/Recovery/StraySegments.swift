import AlbumFormat
import AlbumModel
import AlbumSecrets

/// Data segments of the space in the store that its catalog does not know, by the session that made
/// them.
struct StraySegments: Equatable, Sendable {
  /// Made by the last session, which ended by a crash before a frame named them.
  private(set) var leftOver: [SegmentNumber: SegmentBirth] = [:]
  /// Of another copy of the store, or told of by a part of the journal that is not there. Nobody can say
  /// that they are not needed.
  private(set) var unknown: [SegmentNumber: SegmentBirth] = [:]

  /// `crashed` are the sessions that may have left some behind.
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

  /// Whether the journal lacks its end: segments are there, behind all that the catalog has given out,
  /// that a session finished when the frames that state them were on disk.
  ///
  /// `newest` is the last session that the journal knows, where nothing says that its journal is
  /// whole: what it had open when it ended was not removed by any other.
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
        // The disk cannot read it, so nobody can say that it is not needed.
        leftOver[number] = nil
        unknown[number] = birth
      }
    }
    return false
  }
}
