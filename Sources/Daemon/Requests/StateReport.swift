import AlbumFileSystem
import AlbumModel
import AlbumStore
import Glibc
import Posix

/// The state of a mount in lines for its log, for a person who wonders why it does not go on: threads,
/// locks, queues, segments. It waits for no lock, and has no names, no contents, and nothing about other
/// spaces or chaff.
struct StateReport {
  private let parts: Parts
  private let threads = ThreadState.all()

  init(_ parts: Parts) { self.parts = parts }

  var lines: [String] {
    let space = parts.space.glance
    return ["state of process \(getpid()):"] + threads.map(words)
      + locks(space.heldLocks + parts.fileSystem.heldLocks) + [requests, thumbnails]
      + [journal(space), segments(space), room(space), "end of state"].compactMap { $0 }
  }

  private func words(_ thread: ThreadState) -> String {
    let place = thread.waitsIn.map { ", waits in \($0)" } ?? ""
    return "thread \(thread.number) \(thread.name): \(thread.letter)\(place)"
  }

  private func locks(_ held: [HeldLock]) -> [String] {
    if held.isEmpty { return ["locks: none is held"] }
    return held.map { lock in
      let waiters = lock.waiters.map(name).joined(separator: ", ")
      return "lock \(lock.name): held by thread \(name(lock.thread))"
        + (waiters.isEmpty ? "" : "; waiting: \(waiters)")
    }
  }

  private func name(_ thread: Int32) -> String {
    "\(thread) \(threads.first { $0.number == thread }?.name ?? "that has just ended")"
  }

  private var requests: String {
    "requests: " + (parts.waitingRequests.map { "\($0) without a reply" } ?? "not known")
  }

  private var thumbnails: String {
    guard let photos = parts.fileSystem.photoGlance else { return "thumbnails: behind a held lock" }
    return "thumbnails: \(photos.taken) being made; waiting: \(photos.wanted) wanted by programs, "
      + "\(photos.written) new, \(photos.backlog) others"
  }

  private func journal(_ space: SpaceGlance) -> String {
    guard let journal = space.journal else { return "journal: behind a held lock" }
    let wait =
      journal.uncoveredFor.map {
        "the oldest frame has waited \($0.milliseconds) ms for its barrier"
      }
      ?? "no frame waits for a barrier"
    return "journal: frame \(journal.frame), segment \(journal.segment), \(wait)"
  }

  private func segments(_ space: SpaceGlance) -> String {
    let counts =
      space.segments.map {
        "\($0.living) complete, \($0.filling) being filled, \($0.retired) retired"
      } ?? "behind a held lock"
    let open =
      space.openSegments.map { open in
        open.map { segment in
          "\(segment.number) with \(segment.used.map { "\(space.segmentSize - $0)" } ?? "?") bytes of tail"
        }.joined(separator: ", ")
      } ?? "behind a held lock"
    return "segments: \(counts); open: \(open.isEmpty ? "none" : open)"
  }

  private func room(_ space: SpaceGlance) -> String? {
    guard let waiting = space.waitingForRoom, waiting > 0 else { return nil }
    return "room: \(waiting) calls wait for room on the disk"
  }
}
