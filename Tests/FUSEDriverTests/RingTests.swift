import Testing

@testable import FUSEDriver

/// How the driver uses the machine's processors, and when it starts another thread for one of them.
@Suite struct RingTests {
  @Test func theKernelsListsOfProcessorsAreUnderstood() {
    func count(_ text: String) -> Int { KernelRings.count(Array(text.utf8)) }
    #expect(count("0-3\n") == 4)
    #expect(count("0\n") == 1)
    #expect(count("0-1,4,8-9\n") == 5)
    #expect(count("\n") == 0)
    #expect(count("3-1,x,7") == 1)
  }

  @Test func aThreadThatWaitsForRequestsMakesRoomForAnother() {
    let queue = RingQueue(0)
    for _ in 1..<3 {
      let mayStart = queue.reserveThread(limit: 3)
      #expect(mayStart)
    }
    let isOneTooMany = queue.reserveThread(limit: 3)
    #expect(!isOneTooMany)
    queue.beginWaiting()
    let mayReplace = queue.reserveThread(limit: 3)
    #expect(mayReplace)
    queue.grew(true)
    queue.endWaiting()
    let hasEnough = queue.reserveThread(limit: 3)
    #expect(!hasEnough)
  }

  @Test func aQueueWhoseThreadCannotStartKeepsItsNumberAndKnows() {
    let queue = RingQueue(0)
    for _ in 0..<2 {
      let mayStart = queue.reserveThread(limit: 2)
      #expect(mayStart)
      queue.grew(false)
      #expect(queue.couldNotGrow)
    }
    let mayStart = queue.reserveThread(limit: 2)
    queue.grew(true)
    #expect(mayStart && !queue.couldNotGrow)
  }

  @Test func theLastFreeThreadOfAQueueIsNoticed() {
    let queue = RingQueue(0)
    queue.isFree()
    queue.isFree()
    let leavesOne = queue.isBusy()
    #expect(leavesOne && queue.hasFree)
    let leavesOther = queue.isBusy()
    #expect(!leavesOther && !queue.hasFree)
  }
}
