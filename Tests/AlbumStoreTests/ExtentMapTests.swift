import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

// Extents compared with a plain model that knows the record of each byte of a file.

struct ExtentMapTests {
  /// The place of a byte of content: a segment, a record in it, and the offset in that record.
  struct Home: Equatable {
    var segment: UInt32
    var grid: UInt32
    var place: Int64
  }

  /// Returns the place of each byte in `range`, which bounds `extents`.
  func homes(_ extents: [Extent], _ range: Range<Int>) -> [Home?] {
    var result = [Home?](repeating: nil, count: range.count)
    for extent in extents {
      for step in 0..<extent.length {
        let into = Int64(extent.skip) + step
        let record = UInt32(into / DataRecord.contentLimit)
        result[Int(extent.offset + step) - range.lowerBound] = Home(
          segment: extent.segment.rawValue, grid: extent.grid + record * DataRecord.fullGridCount,
          place: into % DataRecord.contentLimit)
      }
    }
    return result
  }

  @Test(arguments: 0..<6) func everyByteIsWhereItWasWrittenLast(_ round: Int) {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let length = 400_000
    var map = ExtentMap()
    var model = [Home?](repeating: nil, count: length)
    var grid: UInt32 = 0
    var end = 0
    for step in 1...60 {
      let isAppend = Bool.random(using: &random)
      let from = isAppend ? end : Int.random(in: 0..<length, using: &random)
      let to = min(length, from + Int.random(in: 1...90_000, using: &random))
      if from >= to { continue }
      var new: [Extent] = []
      if !isAppend && Int.random(in: 0..<4, using: &random) == 0 {
        // A hole.
      } else {
        for start in stride(from: from, to: to, by: 65_536) {
          let part = Int64(min(65_536, to - start))
          new.append(
            Extent(
              offset: Int64(start), length: part, segment: SegmentNumber(1), grid: grid, skip: 0))
          grid += part == 65_536 ? DataRecord.fullGridCount : 300
        }
      }
      let before = Array(model[from..<to])
      model.replaceSubrange(from..<to, with: homes(new, from..<to))
      let dropped = map.replace(from: Int64(from), to: Int64(to), with: new)
      #expect(homes(dropped, from..<to) == before)
      // Comparing all bytes takes most of the time.
      if step.isMultiple(of: 12) { #expect(homes(map.extents, 0..<length) == model) }
      end = max(end, to)
      for (one, next) in zip(map.extents, map.extents.dropFirst()) {
        #expect(one.end <= next.offset)
        #expect(!one.isContinued(by: next))
      }
    }
  }
}
