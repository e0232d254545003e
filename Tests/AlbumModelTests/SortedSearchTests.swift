import AlbumModel
import Testing

/// The place in a sorted collection from which on a condition holds.
@Suite struct SortedSearchTests {
  @Test func theFirstPlaceIsFoundInEveryCollection() {
    for count in 0...40 {
      for place in 0...count {
        let slice = (0..<count + 3).map { $0 }[3...]
        var looks = 0
        let found = slice.partitioningIndex { element in
          looks += 1
          return element >= place + 3
        }
        #expect(found == slice.startIndex + place)
        #expect(looks <= 6)
      }
    }
  }

  @Test func aConditionMayFail() {
    struct Fault: Error {}
    #expect(throws: Fault.self) { try [1].partitioningIndex { _ throws(Fault) in throw Fault() } }
    #expect([Int]().partitioningIndex { _ in true } == 0)
  }
}
