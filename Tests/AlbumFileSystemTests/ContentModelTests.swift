import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Testing

// A file has the content that was written to it, whatever layers its bytes are in. The test makes random
// calls with several handles of one file, and the same changes to an array of bytes. It compares both after
// each step that reads, after the last close, and after a new mount.

struct ContentModelTests {
  /// Bytes.
  static let reach = 700_000

  @Test(arguments: 0..<6) func anyCallsInAnyOrderGiveTheWrittenContent(_ round: Int) throws {
    var random = SeededRandom()
    let seed = "seed \(random.seed)"
    let space = try TestSpace()
    try space.mkdir(".plain")
    var handles = [try space.create(".plain/f")]
    var model: [UInt8] = []
    for step in 0..<250 {
      let handle = handles[Int.random(in: 0..<handles.count, using: &random)]
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<45: try write(handle, &model, &random)
      case 45..<70: try compare(handle, model, &random, "\(seed) step \(step)")
      case 70..<75: try truncate(space, &model, &random)
      case 75..<80: try punch(handle, &model, &random)
      case 80..<84: try share(space, handle, &model, &random)
      case 84..<88: try handle.flush()
      case 88..<90: try handle.synchronize()
      case 90..<95 where handles.count < 4: handles.append(try space.open(".plain/f", writes: true))
      case 95..<100 where handles.count > 1: handles.removeLast().release()
      default: #expect(try space.status(".plain/f").size == Int64(model.count), "\(seed)")
      }
    }
    for handle in handles { handle.release() }
    #expect(try space.read(".plain/f") == model, "\(seed)")
    try space.remount()
    #expect(try space.read(".plain/f") == model, "\(seed)")
  }

  private func place(_ random: inout SeededRandom, _ longest: Int) -> Range<Int> {
    let isLong = Int.random(in: 0..<4, using: &random) == 0
    let length = Int.random(in: 1...(isLong ? longest : 9000), using: &random)
    let start = Int.random(in: 0..<ContentModelTests.reach - length, using: &random)
    return start..<start + length
  }

  private func write(_ file: OpenFile, _ model: inout [UInt8], _ random: inout SeededRandom) throws
  {
    let place = place(&random, 200_000)
    let bytes = random.bytes(place.count)
    try file.put(bytes, at: Int64(place.lowerBound))
    grow(&model, to: place.upperBound)
    model.replaceSubrange(place, with: bytes)
  }

  private func compare(
    _ file: OpenFile, _ model: [UInt8], _ random: inout SeededRandom, _ comment: String
  ) throws {
    let place = place(&random, 300_000)
    let expected =
      place.lowerBound < model.count
      ? Array(model[place.lowerBound..<min(place.upperBound, model.count)]) : []
    let isEqual = try file.get(place.count, at: Int64(place.lowerBound)) == expected
    #expect(isEqual, "\(comment)")
  }

  private func truncate(
    _ space: TestSpace, _ model: inout [UInt8], _ random: inout SeededRandom
  ) throws {
    let size = Int.random(in: 0..<ContentModelTests.reach, using: &random)
    var change = AttributeChange()
    change.size = Int64(size)
    _ = try space.fileSystem.change(change, of: space.number(".plain/f"))
    if size < model.count { model.removeLast(model.count - size) }
    grow(&model, to: size)
  }

  private func punch(_ file: OpenFile, _ model: inout [UInt8], _ random: inout SeededRandom) throws
  {
    let place = place(&random, 100_000)
    try file.allocate(
      at: Int64(place.lowerBound), length: Int64(place.count),
      mode: AllocationMode(keepsSize: true, punchesHole: true))
    for index in place where index < model.count { model[index] = 0 }
  }

  private func share(
    _ space: TestSpace, _ file: OpenFile, _ model: inout [UInt8], _ random: inout SeededRandom
  ) throws {
    let from = place(&random, 100_000)
    let to = Int.random(in: 0..<ContentModelTests.reach - from.count, using: &random)
    if from.overlaps(to..<to + from.count) { return }
    let copied = try space.fileSystem.copyRange(
      of: file, at: Int64(from.lowerBound), to: file, at: Int64(to), length: Int64(from.count))
    let available = max(0, min(from.count, model.count - from.lowerBound))
    #expect(copied == Int64(available), "seed \(random.seed)")
    if available == 0 { return }
    let bytes = Array(model[from.lowerBound..<from.lowerBound + available])
    grow(&model, to: to + available)
    model.replaceSubrange(to..<to + available, with: bytes)
  }

  private func grow(_ model: inout [UInt8], to count: Int) {
    if model.count < count { model += [UInt8](repeating: 0, count: count - model.count) }
  }
}
