package import AlbumFormat
package import AlbumModel
import AlbumSecrets
package import Posix

import struct Synchronization.Atomic

/// How far a space that was opened for reading follows the writer.
package struct Following: Sendable {
  /// When the space looked last: it shows what was on disk then.
  package var lastLook: Timestamp
  /// Why it has not looked since.
  package var problem: StoreError?
}

/// The state of a space, for a user.
package struct SpaceStatus: Sendable {
  /// Why nothing can be changed; nil if changes are possible.
  package var readOnlyReason: String?
  /// Why no new content can be accepted now: room on the disk is missing; nil if there is room.
  package var shortage: String?
  /// Since when the store does not respond, and why; nil if it does.
  package var outage: Outage?
  /// nil: the store lies here.
  package var sending: SendingStatus?
  /// nil: the space does not follow a writer.
  package var following: Following?
  /// When everything was last on disk; nil if nothing was written in this session.
  package var lastBarrier: Timestamp?
  package var recovery: RecoveryReport
  package var inodes: Int
  package var segments: Int
  /// Segments with content that does not decrypt, as far as compaction met them in this session: they stay
  /// as they are.
  package var unreadableSegments: Int
  /// The cipher of the space's records.
  package var cipher: CipherKind
}

extension Space {
  package var status: SpaceStatus {
    let (inodes, segments) = read { ($0.inodeCount, $0.segments.accounts.count) }
    let follower = follower.withLock { $0 }
    return SpaceStatus(
      readOnlyReason: context.health.readOnlyReason?.message,
      shortage: context.room.shortage?.message, outage: context.store.directory.outages?.current,
      sending: durability.sendingStatus, following: follower?.following,
      lastBarrier: durability.lastBarrier.withLock { $0 },
      recovery: follower?.report ?? recovery,
      inodes: inodes, segments: segments, unreadableSegments: compactor.turns.unreadable.count,
      cipher: context.files.keys.cipher.kind)
  }

  package var isReadOnly: Bool { context.health.isReadOnly }

  /// Throws `.readOnly` with the reason if nothing may be changed.
  package func requireWritable() throws(StoreError) { try context.health.requireWritable() }

  /// See `DiskRoom.isNearlyFull`.
  package var isNearlyFull: Bool { context.room.isNearlyFull }

  /// The files of the store that could not be read: objects of the wrong type, and errors of the disk.
  package var unreadableFiles: [StoreError] { context.files.misplaced + context.files.unreadable }

  /// The number of a frame, and the current time. A machine records both to notice a store that was replaced
  /// by an older one.
  package typealias HistoryEnd = (frame: UInt64, time: StoreTime)

  /// The last frame.
  package var historyEnd: HistoryEnd {
    let frame = durability.journal.withLock { $0.writer.position.frame.rawValue }
    return (frame, context.files.clock.now)
  }

  /// The last frame that no power cut can undo. Waits for a running barrier.
  package var durableHistoryEnd: HistoryEnd {
    let covered = durability.barrierState.withLock { $0.covered.rawValue }
    let proven = durability.provenFrame.load(ordering: .acquiring)
    return (max(covered, proven), context.files.clock.now)
  }

  /// The space's name in the records of a machine.
  package var memoryName: String { context.files.keys.memoryName }
}
