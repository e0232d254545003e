import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// Whoever watches a space sees each step of its journal and of its segments.

struct SpaceTraceTests {
  @Test func aTraceShowsFramesBarriersCheckpointsAndSegments() throws {
    let lines = Monitor([String](), rank: .test)
    let watch = try EventTrace { line throws(Errno) in lines.withLock { $0.append(line) } }
    var trace = SpaceTrace()
    trace.journal = watch.area("journal")
    trace.compaction = watch.area("compaction")
    let place = try StorePlace()
    let space = try place.open(grace: 0, background: false, trace: trace)
    // More than one segment holds: the one that is open stays.
    for name in ["a", "b", "c"] { try space.write([UInt8](repeating: 7, count: 100_000), to: name) }
    try space.durability.checkpoint()
    for name in ["a", "b", "c"] { space.remove(name) }
    try space.compact()
    try space.close()
    watch.stop()
    let seen = lines.withLock { $0 }
    for event in [
      "journal frame number=", "journal barrier frame=", "journal checkpoint frame=",
      "compaction segment-born kind=data number=", "compaction segment-born kind=checkpoint",
      "compaction segment-retired kind=data number=",
      "compaction segment-removed kind=data number=",
      "compaction turn ",
    ] {
      #expect(seen.contains { $0.contains(event) }, "no \(event) in \(seen)")
    }
  }

  @Test func aGlanceSeesALockThatIsHeldAndDoesNotWaitForIt() throws {
    let place = try StorePlace()
    let space = try place.open(background: false)
    try space.write([1], to: "a")
    var glance = space.glance
    #expect(glance.heldLocks.isEmpty && glance.journal != nil && glance.segments?.filling == 1)
    #expect(glance.openSegments?.count == 1)
    space.durability.barrierState.withLock { _ in
      space.durability.journal.withLock { _ in glance = space.glance }
    }
    #expect(glance.heldLocks.map(\.name) == ["barrier", "journal"])
    #expect(glance.heldLocks.allSatisfy { $0.thread == PosixThread.number })
    #expect(glance.journal == nil && glance.segments != nil)
    try space.close()
  }
}
