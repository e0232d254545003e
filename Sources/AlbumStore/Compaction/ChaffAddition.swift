import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

extension Compactor {
  /// Adds the chaff that is due. Without room it adds none, and reports no error.
  func addChaffIfDue() { addChaff(until: .now) }

  /// Adds the remaining chaff: a session that ends early adds as much as one that continues.
  func addChaffInTheEnd() { addChaff(until: .distantFuture) }

  /// When the next is due.
  var nextChaff: MonotonicTime? { files.chaff.withLock { $0.nextDue } }

  private func addChaff(until time: MonotonicTime) {
    let (made, now) = (files.created.load(ordering: .relaxed), MonotonicTime.now)
    // A session that writes makes at least one journal segment.
    if !options.addsChaff || made == 0 { return }
    let wanted = files.chaff.withLock { chaff in
      chaff.drawAdditions(made: made, now: now)
      return chaff.take(until: time)
    }
    for _ in 0..<min(wanted, roomForChaff) {
      do throws(StoreError) { try Chaff.addSegment(to: context.store) } catch {
        if !error.isShortage { options.logger.warning("no chaff could be added: \(error)") }
        return
      }
    }
  }

  /// How many segments may be added now: none of the room that the space keeps for itself, and a small share
  /// of the rest.
  private var roomForChaff: Int {
    if room.isShort || health.isReadOnly || room.isNearlyFull { return 0 }
    if durability.hasReserve, files.missingReserve > 0 { return 0 }
    guard let available = try? room.capacity().availableBytes else { return 0 }
    return Int(available / ChaffRule.shareOfDisk / Int64(files.segmentSize))
  }
}
