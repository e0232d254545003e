import Synchronization
import Testing

@testable import Posix

struct LaneTests {
  @Test(arguments: [1, 4, 100]) func resultsComeInTheOrderOfTheItems(lanes: Int) {
    let squares = inLanes(lanes, Array(0..<50)) { $0 * $0 }
    #expect(squares == (0..<50).map { $0 * $0 })
    #expect(inLanes(lanes, [Int]()) { $0 } == [])
  }

  @Test(arguments: [1, 4]) func afterACallThatFailsNoOtherBegins(lanes: Int) {
    let begun = Atomic(0)
    #expect(throws: Errno.noSpace) {
      try inLanes(lanes, Array(0..<1000)) { item throws(Errno) in
        begun.wrappingAdd(1, ordering: .relaxed)
        if item == 3 { throw .noSpace }
      }
    }
    // Several threads may have begun many before the one that fails.
    if lanes == 1 { #expect(begun.load(ordering: .relaxed) == 4) }
  }
}
