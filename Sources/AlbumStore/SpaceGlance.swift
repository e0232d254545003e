import AlbumFormat
import AlbumModel
package import Posix

/// What a space is doing at one moment. Looking waits for no lock, so a report on a mount that is stuck
/// has it too. What lies behind a lock that a thread holds is nil.
package struct SpaceGlance: Sendable {
  package struct Journal: Sendable {
    /// The number of the last frame.
    package let frame: UInt64
    /// The number of the newest journal segment.
    package let segment: UInt32
    /// How long the oldest frame has waited for its barrier; nil: none waits.
    package let uncoveredFor: Duration?
  }

  /// How many data segments are in each state.
  package struct Segments: Sendable {
    package var filling = 0
    package var living = 0
    package var retired = 0
  }

  /// A data segment that gets records.
  package struct OpenSegment: Sendable {
    package let number: UInt32
    /// Bytes in use; the rest is the tail.
    package let used: Int?
  }

  package let heldLocks: [HeldLock]
  package let journal: Journal?
  package let segments: Segments?
  package let openSegments: [OpenSegment]?
  /// Bytes of each segment.
  package let segmentSize: Int
  /// The number of callers that asked for room on a full disk and have none yet.
  package let waitingForRoom: UInt64?
}

extension Space {
  /// See `SpaceGlance`.
  package var glance: SpaceGlance {
    let journal = durability.journal.withLockIfFree { journal in
      SpaceGlance.Journal(
        frame: journal.writer.position.frame.rawValue, segment: journal.writer.newest.rawValue,
        uncoveredFor: journal.oldestUncovered.map { .now - $0 })
    }
    return SpaceGlance(
      heldLocks: heldLocks, journal: journal, segments: context.catalog.segmentGlance,
      openSegments: context.content.openSegmentsAtOnce.map { open in
        open.map { SpaceGlance.OpenSegment(number: $0.number.rawValue, used: $0.used) }
      }, segmentSize: context.files.segmentSize,
      waitingForRoom: durability.reclaims.waitingAtOnce)
  }

  /// In the order of `LockRank`.
  private var heldLocks: [HeldLock] {
    let own = [
      HeldLock("compaction", thread: compactor.turns.taker),
      durability.checkpointing.held(as: "checkpoint"),
      durability.barrierState.held(as: "barrier"),
      durability.journal.held(as: "journal"),
      context.catalog.held(as: "catalog"),
    ]
    return own.compactMap { $0 } + context.content.heldLocks + context.files.heldLocks
  }
}

extension CatalogLock {
  fileprivate var segmentGlance: SpaceGlance.Segments? {
    withLockIfFree { catalog in
      var segments = SpaceGlance.Segments()
      for account in catalog.segments.accounts.values {
        switch account.state {
        case .filling: segments.filling += 1
        case .retired: segments.retired += 1
        case .living, .removed: segments.living += 1
        }
      }
      return segments
    }
  }
}
