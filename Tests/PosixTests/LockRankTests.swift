import Glibc
import Posix
import Testing

// No two threads wait for one another, because all take locks in one order. A debug build notices a lock out
// of order at once, not only in a run in which two threads really meet.

struct LockRankTests {
  @Test func locksAreTakenInRisingRank() {
    let catalog = Mutex(1, rank: .catalog)
    let files = Monitor(2, rank: .files)
    for _ in 0..<2 {
      let sum = LockRank.barrier.holding {
        catalog.withLock { catalog in files.withLock { catalog + $0 } }
      }
      #expect(sum == 3)
    }
    // A waiting thread holds the lock again when it continues.
    files.waiting(until: .now) { _ in nil as Void? }
    #expect(catalog.withLock { $0 } == 1)
  }

  @Test func anErrorGivesTheRankBack() {
    let lock = Mutex(0, rank: .leaf)
    #expect(throws: Errno.io) { try lock.withLock { _ throws(Errno) in throw Errno.io } }
    #expect(Mutex(1, rank: .catalog).withLock { $0 } == 1)
  }

  @Test func eachThreadHasItsOwnRecord() throws {
    let lock = Mutex(0, rank: .leaf)
    let outer = Mutex(0, rank: .catalog)
    try lock.withLock { _ in
      try PosixThread(name: "other") { outer.withLock { $0 = 1 } }.join()
    }
    #expect(outer.withLock { $0 } == 1)
  }

  #if DEBUG
  @Test func aLockOutOfOrderEndsTheProcessAndNamesBothRanks() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let inner = Mutex(0, rank: .catalog)
      let outer = Monitor(0, rank: .journal)
      inner.withLock { _ in outer.withLock { _ in } }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("rank 'catalog' takes one of rank 'journal'"), "\(text)")
  }

  @Test func twoLocksOfOneRankAreOutOfOrder() async {
    await #expect(processExitsWith: .failure) {
      let one = Mutex(0, rank: .content)
      let other = Mutex(0, rank: .content)
      one.withLock { _ in other.withLock { _ in } }
    }
  }

  @Test func holdingARankWithoutALockIsCheckedToo() async {
    await #expect(processExitsWith: .failure) {
      Mutex(0, rank: .barrier).withLock { _ in LockRank.compaction.holding {} }
    }
  }

  @Test func aCallThatMayWaitForTheNetworkIsMadeWithoutTheLocksForShortTimes() async {
    await #expect(processExitsWith: .failure) {
      let outages = Outages { _ in }
      Mutex(0, rank: .leaf).withLock { _ in try? outages.calling { () throws(Errno) in } }
    }
  }
  #endif
}
