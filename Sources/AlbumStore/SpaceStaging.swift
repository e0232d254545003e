import AlbumFormat
import AlbumModel
import AlbumSecrets
package import Posix

extension Space {
  /// Begins to write to a store that lies elsewhere: sends first what a session on this machine had written
  /// and not sent, since recovery reads the journal there. If another session has taken the space over, that
  /// is a timeline that was left, and `overtaken` is called with the newest fence before anything is sent.
  /// Returns the births of these sessions, which have ended: the caller holds the lock that they held.
  static func beginStaging(
    _ files: SegmentFiles, overtaken: (FenceRecord) throws(StoreError) -> Void
  ) throws(StoreError) -> Set<SegmentBirth> {
    guard let relay = files.directory.relay else { return [] }
    // No segment has this name: numbers begin at 1.
    let name = files.keys.name(of: .reserve, number: SegmentNumber(0), birth: .none)
    do throws(StagingFault) { try relay.begin(name.text) } catch {
      throw StoreError(
        .inputOutput,
        "cannot use \(error.path), where what is not sent yet waits: \(error.error)",
        cause: error.error)
    }
    let killed = relay.unsent.compactMap { path in
      SegmentName(text: String(path.suffix(32))).flatMap { files.keys.segment(named: $0)?.birth }
    }
    if !killed.isEmpty, let last = try Fence.newest(files),
      relay.isOvertaken || !killed.contains(last.session)
    {
      do throws(Errno) { try relay.recordOvertaken() } catch {
        throw StoreError(writing: "", error)
      }
      do throws(StoreError) { try overtaken(last) } catch {
        relay.end()
        throw error
      }
    }
    try Shipment(files, relay).send(omitting: [])
    return Set(killed)
  }

  /// A mount does not send what another session has overtaken: the sessions that follow would not keep it. A
  /// repair sends it and brings it back at once.
  static func refuse(_ fence: FenceRecord) throws(StoreError) {
    throw StoreError(
      .notSent,
      "another session, on the machine \(fence.machine), has written to the space since; what this machine had "
        + "not sent waits on its disk, and a repair sends it and brings it back", remedy: .repair)
  }

  /// True if the store lies elsewhere.
  package var liesElsewhere: Bool { context.files.directory.relay != nil }

  /// An object storage states no limit.
  private static let roomElsewhere: Int64 = 1 << 50

  /// The room where the store lies. While what waits on this machine takes all that it may, there is none.
  package func capacity() throws(StoreError) -> StorageCapacity {
    var capacity = try context.room.capacity()
    guard let relay = context.files.directory.relay, !context.options.readOnly else {
      return capacity
    }
    let stored: Int64
    do throws(Errno) { stored = try relay.storedBytes } catch {
      throw StoreError(reading: "", error)
    }
    let free = context.room.isShort ? capacity.availableBytes : Space.roomElsewhere
    capacity.totalBytes = stored.saturatingAdd(free)
    (capacity.freeBytes, capacity.availableBytes) = (free, free)
    return capacity
  }
}
