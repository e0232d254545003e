import AlbumFormat
import AlbumModel

// Which segments belong to this timeline. A copy of the store that is written to has the same sessions up to
// the copy, and the session that was running then continues in the original. So a session is identified by
// its birth and by the range of its segments' numbers here: the next session uses numbers above all existing
// ones.

extension Catalog {
  /// Records a new session; the next frame with other content states it.
  mutating func beginSession(_ birth: SegmentBirth, _ start: SessionStart) {
    if sessions[birth] != nil { return }
    sessions[birth] = start
    changes.sessions.insert(birth)
  }

  /// Makes the next frame state the changes of `beginSession` and `forgetSessions`, even if it has nothing
  /// else.
  mutating func stateSessions() { changes.statesSessions = true }

  /// Sessions of which only data segments are left in the store, with the journal and checkpoint segments
  /// that they may have made. The oldest come first, because the next session shows where a session ends.
  func goneSessions(but present: Set<SegmentBirth>) -> [(birth: SegmentBirth, made: [SegmentID])] {
    let oldestFirst = sessions.sorted { $0.value.journal < $1.value.journal }
    return zip(oldestFirst, oldestFirst.dropFirst()).prefix { !present.contains($0.0.key) }.map {
      session, next in
      let journals = session.value.journal.rawValue..<next.value.journal.rawValue
      let first = session.value.checkpoint.rawValue
      let checkpoints = first..<max(first, next.value.checkpoint.rawValue)
      return (
        session.key,
        journals.map { SegmentID(kind: .journal, number: SegmentNumber($0)) }
          + checkpoints.map { SegmentID(kind: .checkpoint, number: SegmentNumber($0)) }
      )
    }
  }

  mutating func forgetSessions(_ births: [SegmentBirth]) {
    for birth in births {
      sessions[birth] = nil
      changes.sessions.insert(birth)
    }
  }

  /// True if a session of this timeline made a journal or checkpoint segment.
  func isOwn(_ id: SegmentID, _ birth: SegmentBirth) -> Bool {
    guard let start = sessions[birth] else { return false }
    let next = sessions.values.filter { $0.journal > start.journal }.min {
      $0.journal < $1.journal
    }
    switch id.kind {
    case .journal:
      return id.number >= start.journal && next.map { id.number < $0.journal } ?? true
    case .checkpoint:
      return id.number >= start.checkpoint && next.map { id.number < $0.checkpoint } ?? true
    case .data, .reserve, .fence: return false
    }
  }
}
