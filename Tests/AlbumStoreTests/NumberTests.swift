import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// Sessions that write little use few numbers of segments, however they end. A repair without a journal finds
// segments by their names, however many sessions there were.

struct NumberTests {
  @Test func killedSessionsWasteFewNumbers() throws {
    let run = try RoomRun()
    for session in 0..<262 {
      let space = try run.open()
      try space.write([UInt8(session % 256)], to: "note")
      if session % 8 == 7 {
        for _ in 0..<2 { try space.durability.checkpoint() }
        try space.compact()
      }
      space.abandon()
    }
    let space = try run.open()
    let counters = space.read { $0.counters }
    #expect(counters.nextDataSegment < 262 * 16)
    #expect(counters.nextCheckpointSegment < 262 * 16)
    #expect(try space.content(of: "note") == [UInt8(261 % 256)])
    space.abandon()

    for path in run.disk.segmentPaths() where run.keys.segment(at: path)?.kind != .data {
      try run.disk.remove(path)
    }
    let isFound = try run.repair().contains { repair in
      if case .nameLost = repair { true } else { false }
    }
    #expect(isFound, "a repair without a journal finds nothing")
  }
}
