import Testing

@testable import FUSEDriver

/// What the driver makes of the machine's processors, and when it starts another thread for one of them.
@Suite struct RingTests {
  @Test func theKernelsListsOfProcessorsAreUnderstood() {
    func numbers(_ text: String) -> [Int] { KernelRings.numbers(Array(text.utf8)) }
    #expect(numbers("0-3\n") == [0, 1, 2, 3])
    #expect(numbers("0\n") == [0])
    #expect(numbers("0-1,4,8-9\n") == [0, 1, 4, 8, 9])
    #expect(numbers("\n") == [])
    #expect(numbers("3-1,x,7") == [7])
  }

  @Test func aThreadThatWaitsForRequestsMakesRoomForAnother() {
    let queue = RingQueue(0)
    for _ in 0..<3 {
      let mayStart = queue.reserveThread(limit: 3)
      #expect(mayStart)
    }
    let isOneTooMany = queue.reserveThread(limit: 3)
    #expect(!isOneTooMany)
    queue.beginWaiting()
    let mayReplace = queue.reserveThread(limit: 3)
    #expect(mayReplace)
    queue.endWaiting()
    let hasEnough = queue.reserveThread(limit: 3)
    #expect(!hasEnough)
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
