import AlbumFormat
import AlbumModel

// Which segments are of this timeline. A copy of the store that is written to has the same sessions up to
// the moment when it was made, and the one that was under way then goes on in the other. So a session is
// known by its birth and by the numbers that its segments may have here: the next session takes numbers
// behind all that are there when it begins.

extension Catalog {
  /// A session has begun; the next frame that states anything says so.
  mutating func beginSession(_ birth: SegmentBirth, _ start: SessionStart) {
    if sessions[birth] != nil { return }
    sessions[birth] = start
    changes.sessions.insert(birth)
  }

  /// Lets the next frame state what `beginSession` and `forgetSessions` noted, also where there is nothing
  /// else.
  mutating func stateSessions() { changes.statesSessions = true }

  /// Sessions of which nothing is in the store any more but data segments, with the journal and checkpoint
  /// segments that they may have made; the oldest first, since where a session ends is known by the one
  /// behind it.
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

  /// Whether a session of this timeline made a journal or checkpoint segment.
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
    case .data, .reserve: return false
    }
  }
}
