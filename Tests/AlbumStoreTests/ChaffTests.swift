import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Glibc
import Logging
import Posix
import Testing

@testable import AlbumStore

// Chaff looks like any other segment: it has the same size, the same kind of place, random bytes, and the
// time of all segments at rest.

@Suite struct ChaffTests {
  private let size = SegmentLayout.minimumByteCount

  @Test func `chaff is asked for in bytes and made in whole segments`() throws {
    #expect(try segments(PasswordPlace("one", chaff: 0)).isEmpty)
    #expect(try segments(PasswordPlace("one", chaff: 1)).count == 1)
    #expect(try segments(PasswordPlace("one", chaff: Int64(size))).count == 1)
    #expect(try segments(PasswordPlace("one", chaff: Int64(size) + 1)).count == 2)
  }

  @Test func `more can be added at any time without a password`() throws {
    let place = try PasswordPlace("one", chaff: 0)
    let store = try place.open()
    try Chaff.add(bytes: Int64(3 * size), to: store)
    try Chaff.add(bytes: 0, to: store)
    #expect(try segments(place).count == 3)
  }

  @Test func `it looks like every other segment`() throws {
    let place = try PasswordPlace("one", chaff: Int64(4 * size))
    var counts = [Double](repeating: 0, count: 256)
    for path in try segments(place) {
      let parts = path.split(separator: "/")
      let name = try #require(SegmentName(text: String(parts[2])))
      #expect(SegmentPath.path(of: name) == path)
      let bytes = try place.read(path)
      #expect(bytes.count == size)
      for byte in bytes { counts[Int(byte)] += 1 }
      var status = stat()
      #expect(unsafe lstat("\(place.directory.path)/\(path)", &status) == 0)
      let checksum = unsafe bytes.withUnsafeBytes { unsafe SegmentChecksum($0) }
      #expect(status.st_mtim.tv_sec == Int(checksum.time.seconds) && status.st_mtim.tv_nsec == 0)
      #expect(SegmentChecksum.isPossible(checksum.time))
    }
    let expected = Double(4 * size) / 256
    let chiSquare = counts.reduce(0) { $0 + ($1 - expected) * ($1 - expected) / expected }
    #expect(chiSquare < 450)
  }

  /// Expects each share of 4,000 draws to lie within 8 of its deviations, which chance exceeds once in 10^14.
  private func expect(
    _ draws: [Int], _ count: Int, _ share: Double,
    _ sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let total = Double(draws.count)
    let seen = Double(draws.count { $0 >= count }) / total
    let bound = 8 * (share * (1 - share) / total).squareRoot() + 1e-9
    #expect(
      abs(seen - share) <= bound, "\(count): \(seen), not \(share)", sourceLocation: sourceLocation)
  }

  @Test func `a store is born with as much chaff as is stated, each doubling as likely`() {
    for limit in [0, 1, 2, 30, 1024] {
      let draws = (0..<4000).map { _ in
        ChaffRule.countAtBirth(limit: limit, uniform: .random(in: 0..<1))
      }
      #expect(draws.allSatisfy { $0 >= 0 && ($0 < limit || limit == 0) })
      for count in [0, 1, 2, 7, 63, 500, 1023] {
        expect(draws, count, ChaffRule.shareAtBirth(atLeast: count, limit: limit))
      }
    }
  }

  @Test func `a store takes a small share of the disk at birth, and 4 GiB at most`() {
    let size = 4 << 20
    #expect(ChaffRule.limitAtBirth(availableBytes: 64 << 30, segmentSize: size) == 256)
    #expect(ChaffRule.limitAtBirth(availableBytes: 100 << 40, segmentSize: size) == 1024)
    #expect(ChaffRule.limitAtBirth(availableBytes: 100 << 20, segmentSize: size) == 0)
    #expect(ChaffRule.limitAtBirth(availableBytes: -1, segmentSize: size) == 0)
  }

  @Test func `an addition is as large as is stated`() {
    let draws = (0..<4000).map { _ in
      ChaffRule.countOfAddition(uniform: .random(in: 0..<1))
    }
    #expect(draws.allSatisfy { $0 >= 1 && $0 <= ChaffRule.mostAtOnce })
    for count in 1...17 { expect(draws, count, ChaffRule.shareOfAddition(atLeast: count)) }
  }

  /// Returns the range of additions in `tries` tries with this `probability`, by the exact binomial
  /// distribution. Chance leaves it on either side once in 2 * 10^7 runs.
  private func likely(_ tries: Int, _ probability: Double) -> ClosedRange<Int> {
    let bound = 5e-8
    let logarithm = { (count: Int) -> Double in
      lgamma(Double(tries + 1)) - lgamma(Double(count + 1)) - lgamma(Double(tries - count + 1))
        + Double(count) * log(probability) + Double(tries - count) * log1p(-probability)
    }
    var (low, below) = (0, exp(logarithm(0)))
    while below < bound {
      low += 1
      below += exp(logarithm(low))
    }
    var (high, above) = (tries, exp(logarithm(tries)))
    while above < bound {
      high -= 1
      above += exp(logarithm(high))
    }
    return low...high
  }

  /// A rule of 1 in 16 or 1 in 10 in place of 1 in 8, or of 1 in 80 or 1 in 115 in place of 1 in 96, fails.
  @Test func `one session in eight adds chaff, and one new segment in ninety-six`() {
    var random = SeededRandom()
    let sessions = 6000
    var (first, later) = (0, 0)
    for _ in 0..<sessions {
      var chaff = SessionChaff()
      chaff.drawAdditions(made: 0, now: .now, using: &random)
      #expect(chaff.pending.count <= 1)
      first += chaff.pending.count
      for made in [1, 2, 30, 31, 95, 96] {
        chaff.drawAdditions(made: made, now: .now, using: &random)
      }
      // A number that the session counted already draws nothing.
      let count = chaff.pending.count
      for made in [96, 3] { chaff.drawAdditions(made: made, now: .now, using: &random) }
      #expect(chaff.pending.count == count)
      later += count
    }
    later -= first
    #expect(likely(sessions, 1.0 / 8).contains(first), "\(first), seed \(random.seed)")
    #expect(likely(sessions * 96, 1.0 / 96).contains(later), "\(later), seed \(random.seed)")
    // The bounds are as narrow as documented, and no wider than chance.
    let (ofFirst, ofLater) = (likely(sessions, 1.0 / 8), likely(sessions * 96, 1.0 / 96))
    #expect(ofFirst.contains(sessions / 8) && ofLater.contains(sessions))
    #expect(ofFirst.lowerBound > sessions / 10 && ofFirst.upperBound < sessions / 6)
    #expect(ofLater.lowerBound > sessions * 96 / 115 && ofLater.upperBound < sessions * 96 / 80)
  }

  /// Expects a share of the draws. It allows what chance exceeds once in 2 * 10^7 runs of 20,000 draws, and
  /// the error of `ChaffOdds`: Poisson's number of additions is not quite the binomial one.
  private func expect(odds share: Double, of draws: [Int], _ count: Int, _ label: String) {
    let total = Double(draws.count)
    let seen = Double(draws.count { $0 >= count }) / total
    let bound = 5.5 * (max(share, 1e-4) * (1 - min(share, 1 - 1e-4)) / total).squareRoot() + 0.01
    #expect(abs(seen - share) < bound, "\(label), \(count): \(seen), not \(share)")
  }

  @Test func `sessions draw as many segments as is stated`() {
    var random = SeededRandom()
    for made in [1, 20, 300] {
      let sums = (0..<20_000).map { _ -> Int in
        var chaff = SessionChaff()
        for count in stride(from: 0, through: made, by: 37) {
          chaff.drawAdditions(made: count, now: .now, using: &random)
        }
        chaff.drawAdditions(made: made, now: .now, using: &random)
        return chaff.take(until: .distantFuture)
      }
      for count in [1, 2, 8, 16, 40] {
        expect(
          odds: ChaffOdds.shareOfAdditions(atLeast: count, sessions: 1, segments: made), of: sums,
          count, "\(made) segments, seed \(random.seed)")
      }
    }
  }

  @Test func `the odds of unexplained data are those of such stores drawn at random`() {
    var random = SeededRandom()
    let odds = ChaffOdds(segments: 500, limitAtBirth: 64, sessions: 20)
    for count in [1, 4, 16, 64, 100] {
      let draws = (0..<20_000).map { _ -> Int in
        var chaff = ChaffRule.countAtBirth(
          limit: 64, uniform: .random(in: 0..<1, using: &random))
        for session in 0..<20 {
          var drawn = SessionChaff()
          drawn.drawAdditions(
            made: (500 - count) * (session + 1) / 20 - (500 - count) * session / 20, now: .now,
            using: &random)
          chaff += drawn.take(until: .distantFuture)
        }
        return chaff
      }
      expect(odds: odds.share(atLeast: count), of: draws, count, "seed \(random.seed)")
    }
    #expect(odds.share(atLeast: 0) == 1)
    #expect(odds.share(atLeast: 500) < 0.001)
    // The first probabilities are smaller than a Double.
    let large = ChaffOdds(segments: 200_000, limitAtBirth: 1024, sessions: 1000)
    #expect(large.share(atLeast: 1024) > 0.999 && large.share(atLeast: 131_072) < 1e-9)
  }

  @Test func `chaff of a session waits for a random moment, and comes when it ends`() {
    var moments: Set<MonotonicTime> = []
    let now = MonotonicTime.now
    for _ in 0..<1000 {
      var chaff = SessionChaff()
      chaff.drawAdditions(made: 1, now: now)
      guard let due = chaff.nextDue else { continue }
      #expect(due >= now && due < now + ChaffRule.delay)
      moments.insert(due)
      #expect(chaff.take(until: due - .nanoseconds(1)) == 0)
      #expect(chaff.take(until: due) > 0)
      #expect(chaff.nextDue.map { $0 > due } ?? true)
    }
    #expect(moments.count > 30)
  }

  /// A run has no addition in 300 sessions once in 10^17 runs.
  @Test func `sessions that write add chaff, and those that read none`() throws {
    let place = try StorePlace()
    let unexplained = { () throws -> Int in
      let count = try place.store.countSegments(of: place.keys)
      return count.all - (count.own ?? 0)
    }
    for _ in 0..<3 { try place.open(addsChaff: true).close() }
    #expect(try unexplained() == 0)
    var sessions = 0
    while try unexplained() == 0, sessions < 300 {
      sessions += 1
      let space = try place.open(background: false, addsChaff: true)
      try space.write([UInt8(sessions % 256)], to: "file")
      try space.close()
    }
    #expect(try unexplained() > 0)
    let count = try unexplained()
    let space = try place.open(background: false)
    try space.write([1], to: "file")
    try space.close()
    #expect(try unexplained() == count)
  }

  @Test func `chaff takes nothing of a disk that is nearly full`()
    throws
  {
    let keys = SpaceKeys()
    let disk = FaultyDisk(SimulatedDisk())
    try disk.makeDirectory("segments")
    let size = 256 << 10
    let store = Store(directory: disk, segmentSize: size)
    try Space.create(in: store, keys: keys, options: SpaceOptions(owner: 0, group: 0))
    var options = SpaceOpenOptions(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    options.worksInBackground = false
    options.addsChaff = true
    for _ in 0..<60 {
      // There is room for some 40 more segments, of which a 64th is less than one.
      disk.limit(disk.used + Int64(40 * size))
      let space = try Space.open(store, keys: keys, options: options)
      try space.write([1], to: "file")
      try space.close()
    }
    let count = try store.countSegments(of: keys)
    #expect(count.all == count.own)
  }

  private func segments(_ place: PasswordPlace) throws -> [String] {
    let storage = try place.storage()
    return try storage.list("segments").flatMap { folder in
      try storage.list("segments/\(folder)").map { "segments/\(folder)/\($0)" }
    }
  }
}

extension ChaffOdds {
  /// P(n or more are added) between two copies of a store, by this many sessions that wrote this many
  /// segments.
  static func shareOfAdditions(atLeast count: Int, sessions: Int, segments: Int) -> Double {
    let mean = meanAdditions(sessions: sessions, segments: segments)
    return min(1, max(0, 1 - added(mean: mean, below: count).reduce(0, +)))
  }
}
