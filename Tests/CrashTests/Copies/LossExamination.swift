import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumStore

/// A store or a copy with and without one of its segments.
///
/// Promise 3: each file without content in the segment is unchanged. The other files give an error or a
/// content that they had before, and a check names them. Promise 4: a session that writes loses nothing of
/// them for good. The rest of the content that is not shown stays byte for byte.
struct LossExamination {
  let whole: StoreCopy
  /// The sighting with all segments.
  let seen: Sighting
  let view: Snapshot
  let keys: SpaceKeys
  let timeline: Timeline
  /// The start of the machine in which the store is looked at.
  let boot: BootIdentity
  /// True if it is the one in which it was written last: a power cut is no excuse.
  let isSameStart: Bool
  let omitted: Set<Precaution>

  /// nil if the store does not mount even with all segments.
  init?(
    _ whole: StoreCopy, _ keys: SpaceKeys, _ timeline: Timeline,
    boot: BootIdentity = .unknown, isSameStart: Bool = false,
    omitting omitted: Set<Precaution> = []
  ) {
    seen = Sighting(whole, keys, boot: boot, omitting: omitted)
    guard let view = seen.view else { return nil }
    self.whole = whole
    self.view = view
    self.keys = keys
    self.timeline = timeline
    self.boot = boot
    self.isSameStart = isSameStart
    self.omitted = omitted
  }

  /// The segments with content that is shown, in an order that does not depend on their random names.
  var segments: [String] {
    let all = Set(seen.segments.values.flatMap { $0 }).filter { $0.hasPrefix("segments/") }
    let files = view.entries.keys.sorted()
    let contents = all.map { segment in
      (files.filter { isAffected($0, by: segment) }.joined(separator: ", "), segment)
    }
    return contents.sorted { $0 < $1 }.map(\.1)
  }

  /// The newest data segment.
  var newestSegment: String? {
    let newest = keys.numbers(.data, among: whole.files.keys).last
    return newest.flatMap { keys.path(.data, $0, among: whole.files.keys) }
  }

  func isAffected(_ path: String, by segment: String) -> Bool {
    seen.segments[path]?.contains(segment) ?? false
  }

  func without(_ segment: String) -> StoreCopy {
    var copy = whole
    copy.files[segment] = nil
    return copy
  }

  /// Returns the files with content in a segment, without thumbnails.
  func affected(by segment: String) -> [String] {
    view.entries.keys.sorted().filter {
      isAffected($0, by: segment) && !Timeline.isThumbnail($0)
    }
  }

  /// The sighting of what became of the store.
  func look(_ copy: StoreCopy) -> Sighting {
    Sighting(copy, keys, boot: boot, omitting: omitted)
  }

  // MARK: Promise 3

  func faults(_ hurt: Sighting, without segment: String) -> [Fault] {
    guard let found = hurt.view else { return [Fault("does not mount", hurt.refusal)] }
    var faults = isSameStart ? hurt.cutFault : []
    for (path, entry) in view.entries.sorted(by: { $0.key < $1.key })
    where !Timeline.isThumbnail(path) && view.unreadable[path] == nil {
      if isAffected(path, by: segment) {
        faults += affectedFaults(path, entry, found, hurt)
      } else if !isCut(path, hurt),
        !LossExamination.isSame(entry, found.entries[path]) || found.unreadable[path] != nil
      {
        faults.append(Fault("another file is different", path))
      }
    }
    faults += timeline.foreign(in: found) { path in
      // A thumbnail in the segment may give an error until albumfs makes another one.
      Timeline.isThumbnail(path) && isAffected(path, by: segment)
        || view.unreadable[path] != nil && found.unreadable[path] != nil
    }
    return faults + strangers(hurt, without: segment)
  }

  /// True if a check says that a power cut may have taken a file. After a restart of the machine, history may
  /// end at its last barrier, at most 5 seconds before the crash.
  private func isCut(_ path: String, _ hurt: Sighting) -> Bool {
    hurt.findings.contains { $0.path == path && $0.detail == .changesCut }
  }

  private func affectedFaults(
    _ path: String, _ entry: Snapshot.Entry, _ found: Snapshot, _ hurt: Sighting
  ) -> [Fault] {
    let shown = found.entries[path]
    // Moved content may still be in its old place.
    let isAsBefore = found.unreadable[path] == nil && LossExamination.isSame(entry, shown)
    if !isAsBefore, !hurt.names(path, entry) { return [Fault("lost and not named", path)] }
    guard let shown, !isCut(path, hurt) else { return [] }
    // Within one frame, a replaced file looks like one that was removed first.
    let isItsOwn =
      shown.state.number == entry.state.number
      || timeline.isFormer(shown.state.number, of: entry.state.number)
      || view.place(of: path).map { timeline.hadName($0, shown.state.number) } ?? false
    return isItsOwn ? [] : [Fault("another file has its name", path)]
  }

  /// Returns the files that a check calls damaged and that lost nothing.
  private func strangers(_ hurt: Sighting, without segment: String) -> [Fault] {
    let known = Set(seen.findings.compactMap(\.path))
    return hurt.findings.compactMap { finding in
      // A check names a photo whose thumbnail nothing shows.
      guard finding.severity == .damage,
        ![.unreadableThumbnail, .thumbnail].contains(finding.kind),
        let path = finding.path, !known.contains(path),
        view.entries[path]?.state.kind == .regular, !isAffected(path, by: segment)
      else { return nil }
      return Fault("names a file that lost nothing", "\(finding)")
    }
  }

  /// True if two entries are equal, except for the effects of a lost thumbnail.
  static func isSame(_ one: Snapshot.Entry, _ other: Snapshot.Entry?) -> Bool {
    guard let other else { return false }
    if one.state.kind == .directory {
      return other.state.kind == .directory && one.state.number == other.state.number
        && one.attributes == other.attributes
    }
    return withoutThumbnail(one) == withoutThumbnail(other)
  }

  private static func withoutThumbnail(_ entry: Snapshot.Entry) -> Snapshot.Entry {
    var entry = entry
    entry.state.thumbnail = InodeNumber(0)
    entry.state.thumbnailState = .none
    entry.state.thumbnailReason = 0
    entry.state.marks.remove(.thumbnailGoesFirst)
    return entry
  }

  // MARK: Promise 4

  /// Writes to the store without the segment. Then the segment comes back.
  func writingFaults(
    without segment: String, _ hurt: Sighting, _ random: inout SeededRandom
  ) -> [Fault] {
    var session = WritingSession(without(segment), keys, boot: boot, omitting: omitted)
    session.run(&random)
    if let failure = session.failure { return [Fault("cannot be written to", failure)] }
    var faults = removed(affected(by: segment), hurt, besides: segment, session.copy)
    if !session.wasReadOnly, let before = hurt.view {
      let after = look(session.copy)
      if let view = after.view {
        faults += session.faults(in: view, after: before)
      } else {
        faults.append(Fault("does not mount any more", after.refusal))
      }
    }
    var completed = session.copy
    completed.files[segment] = whole.files[segment]
    let again = look(completed)
    return faults + returnFaults(again, segment) { isCut($0, hurt) }
  }

  /// Returns the other segments with content of files that are gone or shown with a change.
  private func removed(
    _ paths: [String], _ hurt: Sighting, besides segment: String, _ left: StoreCopy
  ) -> [Fault] {
    var faults: [Fault] = []
    for path in paths where !isInUse(path, hurt) && !isCut(path, hurt) {
      for other in seen.segments[path, default: []].sorted()
      where other != segment && other.hasPrefix("segments/") {
        guard let old = whole.files[other] else { continue }
        guard let new = left.files[other] else {
          faults.append(Fault("what was set aside is removed", "\(other) of \(path)"))
          continue
        }
        if !new.bytes.starts(with: old.bytes) {
          faults.append(Fault("what was set aside is overwritten", "\(other) of \(path)"))
        }
      }
    }
    return faults
  }

  /// True if a file shows its newest version, under any name, perhaps with an error in the missing segment.
  /// Its other content is live, and compaction may move it.
  private func isInUse(_ path: String, _ hurt: Sighting) -> Bool {
    guard let old = view.entries[path]?.state, let found = hurt.view else { return false }
    return found.entries.values.contains { entry in
      let new = entry.state
      return old.number == new.number && old.modified == new.modified && old.size == new.size
    }
  }

  /// Brings the segment back. Its files come back, or a check still reports them.
  private func returnFaults(
    _ again: Sighting, _ segment: String, except isCut: (String) -> Bool
  ) -> [Fault] {
    guard let found = again.view else {
      return [Fault("does not mount with the segment back", again.refusal)]
    }
    var faults: [Fault] = []
    for (path, entry) in view.entries.sorted(by: { $0.key < $1.key })
    where !Timeline.isThumbnail(path) && view.unreadable[path] == nil {
      let shown = found.entries[path]
      let isThere =
        found.unreadable[path] == nil && shown?.content == entry.content
        && shown?.state.number == entry.state.number
      // A file may be gone if the check reports a new finding.
      if !isThere, !isCut(path), again.findings == seen.findings {
        let kind =
          isAffected(path, by: segment) ? "gone with the segment back" : "another file is gone"
        faults.append(Fault(kind, path))
      }
    }
    faults += timeline.foreign(in: found) { path in
      path == WritingSession.name || view.unreadable[path] != nil
        || Timeline.isThumbnail(path) && found.unreadable[path] != nil
    }
    return faults
  }

  // MARK: Other segments

  /// Returns the segments without content that is shown: their content was written anew, moved or removed.
  /// Losing them costs nothing. `known` are segments that held content at any time.
  func former(_ known: Set<String>) -> [String] {
    known.subtracting(segments).filter { whole.files[$0] != nil }.sorted()
  }

  /// Returns the segments of the journal and of checkpoints, and others without content.
  func others(_ known: Set<String>) -> [String] {
    let content = known.union(segments)
    return whole.files.keys.filter { $0.hasPrefix("segments/") && !content.contains($0) }.sorted()
  }

  /// Examines the loss of a segment without content that is shown. History may end earlier: without the
  /// newest segment of the journal, the store equals an earlier state of itself. The mount shows nothing that
  /// never existed. If it reports that something is missing, a session that writes removes no content that is
  /// not shown any more.
  func otherFaults(without segment: String, _ random: inout SeededRandom) -> [Fault] {
    let hurt = look(without(segment))
    guard let found = hurt.view else {
      return hurt.isCheckDamaged ? [] : [Fault("does not mount, and check is clean", hurt.refusal)]
    }
    var faults = timeline.foreign(in: found) { path in
      Timeline.isThumbnail(path) || view.unreadable[path] != nil && found.unreadable[path] != nil
    }
    let changed = view.entries.keys.sorted().filter { path in
      guard let entry = view.entries[path], !Timeline.isThumbnail(path),
        view.unreadable[path] == nil
      else { return false }
      return !LossExamination.isSame(entry, found.entries[path]) || found.unreadable[path] != nil
    }
    // Findings about what a power cut may have taken do not reveal a lost segment.
    let told = [hurt, seen].map { $0.findings.filter { $0.detail != .changesCut } }
    let isTold = hurt.isMountDamaged || told[0] != told[1]
    if changed.isEmpty || !isTold { return faults }
    var session = WritingSession(without(segment), keys, boot: boot, omitting: omitted)
    session.run(&random)
    faults += removed(changed, hurt, besides: segment, session.copy)
    var completed = session.copy
    completed.files[segment] = whole.files[segment]
    let again = look(completed)
    return faults + returnFaults(again, segment) { isCut($0, hurt) }
  }
}
