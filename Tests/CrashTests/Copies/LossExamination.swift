import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport

@testable import AlbumStore

/// A store or a copy with and without one of its segments.
///
/// Promise 3: each file without content in the segment is what it was; the others answer an error or
/// a content that they had before, and a check names them. Promise 4: who goes on writing loses
/// nothing of it for good: the rest of what is not shown stays byte for byte.
struct LossExamination {
  let whole: StoreCopy
  /// The sighting with all segments.
  let seen: Sighting
  let view: Snapshot
  let keys: SpaceKeys
  let timeline: Timeline
  let omitted: Set<Precaution>

  /// Nil where it does not even mount with all segments.
  init?(
    _ whole: StoreCopy, _ keys: SpaceKeys, _ timeline: Timeline,
    omitting omitted: Set<Precaution> = []
  ) {
    seen = Sighting(whole, keys, omitting: omitted)
    guard let view = seen.view else { return nil }
    self.whole = whole
    self.view = view
    self.keys = keys
    self.timeline = timeline
    self.omitted = omitted
  }

  /// The segments that hold content of what is shown, in an order that does not hang on their random
  /// names.
  var segments: [String] {
    let all = Set(seen.segments.values.flatMap { $0 }).filter { $0.hasPrefix("segments/") }
    let files = view.entries.keys.sorted()
    let contents = all.map { segment in
      (files.filter { isAffected($0, by: segment) }.joined(separator: ", "), segment)
    }
    return contents.sorted { $0 < $1 }.map(\.1)
  }

  /// The data segment that was begun last.
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

  /// Files with content in a segment, thumbnails left out.
  func affected(by segment: String) -> [String] {
    view.entries.keys.sorted().filter {
      isAffected($0, by: segment) && !Timeline.isThumbnail($0)
    }
  }

  // MARK: Promise 3

  func faults(_ hurt: Sighting, without segment: String) -> [Fault] {
    guard let found = hurt.view else { return [Fault("does not mount", hurt.refusal)] }
    var faults: [Fault] = []
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
      // A thumbnail in the segment may be an error until another is made.
      Timeline.isThumbnail(path) && isAffected(path, by: segment)
        || view.unreadable[path] != nil && found.unreadable[path] != nil
    }
    return faults + strangers(hurt, without: segment)
  }

  /// After a restart of the machine what no barrier covers is the end of history, which a power cut may
  /// have taken: at most the last 5 seconds. A check names the files.
  private func isCut(_ path: String, _ hurt: Sighting) -> Bool {
    hurt.findings.contains { $0.path == path && $0.detail == .changesCut }
  }

  private func affectedFaults(
    _ path: String, _ entry: Snapshot.Entry, _ found: Snapshot, _ hurt: Sighting
  ) -> [Fault] {
    let shown = found.entries[path]
    // Content that was moved may still be where it was.
    let isAsBefore = found.unreadable[path] == nil && LossExamination.isSame(entry, shown)
    if !isAsBefore, !hurt.names(path, entry) { return [Fault("lost and not named", path)] }
    guard let shown, !isCut(path, hurt) else { return [] }
    // Within one frame nobody can tell a file that was replaced from one that was removed first.
    let isItsOwn =
      shown.state.number == entry.state.number
      || timeline.isFormer(shown.state.number, of: entry.state.number)
      || view.place(of: path).map { timeline.hadName($0, shown.state.number) } ?? false
    return isItsOwn ? [] : [Fault("another file has its name", path)]
  }

  /// Files that a check calls damaged and that lost nothing.
  private func strangers(_ hurt: Sighting, without segment: String) -> [Fault] {
    let known = Set(seen.findings.compactMap(\.path))
    return hurt.findings.compactMap { finding in
      // A photo whose thumbnail nothing shows is named for that.
      guard finding.severity == .damage,
        ![.unreadableThumbnail, .thumbnail].contains(finding.kind),
        let path = finding.path, !known.contains(path),
        view.entries[path]?.state.kind == .regular, !isAffected(path, by: segment)
      else { return nil }
      return Fault("names a file that lost nothing", "\(finding)")
    }
  }

  /// But for what a lost thumbnail changes.
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

  /// Writes to the store without the segment; then the segment comes back.
  func writingFaults(
    without segment: String, _ hurt: Sighting, _ random: inout SeededRandom
  ) -> [Fault] {
    var session = WritingSession(without(segment), keys, omitting: omitted)
    session.run(&random)
    if let failure = session.failure { return [Fault("cannot be written to", failure)] }
    var faults = removed(affected(by: segment), hurt, besides: segment, session.copy)
    if !session.wasReadOnly, let before = hurt.view {
      let after = Sighting(session.copy, keys, omitting: omitted)
      if let view = after.view {
        faults += session.faults(in: view, after: before)
      } else {
        faults.append(Fault("does not mount any more", after.refusal))
      }
    }
    var completed = session.copy
    completed.files[segment] = whole.files[segment]
    let again = Sighting(completed, keys, omitting: omitted)
    return faults + returnFaults(again, segment) { isCut($0, hurt) }
  }

  /// The other segments with content of files that are not shown as they were: gone, or changed.
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

  /// The segment is there again: its files are, or a check still speaks of them.
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
      // A file may be gone if the check reports something new.
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

  /// Segments of the store that hold content of nothing that is shown: what they held was written anew,
  /// moved or removed. Their loss costs nothing. `known` are segments that held content at any time.
  func former(_ known: Set<String>) -> [String] {
    known.subtracting(segments).filter { whole.files[$0] != nil }.sorted()
  }

  /// The segments of the journal and of checkpoints, and others without content.
  func others(_ known: Set<String>) -> [String] {
    let content = known.union(segments)
    return whole.files.keys.filter { $0.hasPrefix("segments/") && !content.contains($0) }.sorted()
  }

  /// Without a segment that holds no content of what is shown history may end earlier: without the newest
  /// of the journal it is one that the store had, which nobody can tell. Nothing is shown that never was,
  /// and where something is said to be missing nothing is removed of what is not shown any more.
  func otherFaults(without segment: String, _ random: inout SeededRandom) -> [Fault] {
    let hurt = Sighting(without(segment), keys, omitting: omitted)
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
    // What a power cut may have taken says nothing of a lost segment.
    let told = [hurt, seen].map { $0.findings.filter { $0.detail != .changesCut } }
    let isTold = hurt.isMountDamaged || told[0] != told[1]
    if changed.isEmpty || !isTold { return faults }
    var session = WritingSession(without(segment), keys, omitting: omitted)
    session.run(&random)
    faults += removed(changed, hurt, besides: segment, session.copy)
    var completed = session.copy
    completed.files[segment] = whole.files[segment]
    let again = Sighting(completed, keys, omitting: omitted)
    return faults + returnFaults(again, segment) { isCut($0, hurt) }
  }
}
