internal import AlbumFormat
internal import AlbumModel
package import AlbumSecrets
internal import Glibc
internal import Posix

/// How common unexplained data is among stores that hold chaff alone, as `ChaffRule` adds it: what an owner
/// may point to.
package struct ChaffOdds: Sendable {
  /// All segments of the store.
  let segments: Int
  /// What a store of this size on a disk of this size is born with, at most.
  let limitAtBirth: Int
  /// Sessions that wrote.
  let sessions: Int

  package init(segments: Int, limitAtBirth: Int, sessions: Int) {
    self.segments = segments
    self.limitAtBirth = limitAtBirth
    self.sessions = sessions
  }

  /// P(n or more of the segments are chaff): of what the store was born with, and of what sessions have added
  /// that have written the others. Those that are gone again count as never written, and chaff that
  /// somebody added by hand does not count at all, so that more stores have as much.
  package func share(atLeast count: Int) -> Double {
    if count <= 0 { return 1 }
    let additions = ChaffOdds.added(
      mean: ChaffOdds.meanAdditions(sessions: sessions, segments: max(0, segments - count)),
      below: count)
    var (share, few) = (0.0, 0.0)
    for (added, probability) in additions.enumerated() {
      few += probability
      share += probability * ChaffRule.shareAtBirth(atLeast: count - added, limit: limitAtBirth)
    }
    return min(1, max(0, share + 1 - few))
  }

  /// P(n or more are added) between two copies of a store, by so many sessions that have written so many
  /// segments.
  static func shareOfAdditions(
    atLeast count: Int, sessions: Int, segments: Int
  ) -> Double {
    let mean = meanAdditions(sessions: sessions, segments: segments)
    return min(1, max(0, 1 - added(mean: mean, below: count).reduce(0, +)))
  }

  private static func meanAdditions(sessions: Int, segments: Int) -> Double {
    Double(sessions) / Double(ChaffRule.sessionsPerAddition)
      + Double(segments) / Double(ChaffRule.segmentsPerAddition)
  }

  /// P(exactly n segments are added) for each n below `count`: additions are rare and come by themselves, so
  /// their number is taken as Poisson's, and the sum by Panjer's recursion. Values are kept in a scale of
  /// their own, since the first may be smaller than a Double.
  private static func added(mean: Double, below count: Int) -> [Double] {
    let sizes = (0...ChaffRule.mostAtOnce).map { size in
      size == 0
        ? 0
        : ChaffRule.shareOfAddition(atLeast: size) - ChaffRule.shareOfAddition(atLeast: size + 1)
    }
    var scale = -mean
    var values = [1.0]
    for sum in 1..<max(1, count) {
      var value = 0.0
      for size in 1...min(sum, ChaffRule.mostAtOnce) {
        value += Double(size) * sizes[size] * values[sum - size]
      }
      values.append(value * mean / Double(sum))
      if values[sum] > 1e200 {
        for place in values.indices { values[place] *= 1e-200 }
        scale += 200 * log(10)
      }
    }
    return values.prefix(count).map { $0 * exp(scale) }
  }
}

/// What a store shows of its segments.
package struct SegmentCount: Sendable {
  package var all: Int
  /// How many of them are of the space whose keys were given.
  package var own: Int?
  /// In how many sessions of that space those were made; sessions of which nothing is left do not show.
  package var sessions: Int?
}

extension Store {
  /// Counts the segments; those of a space by their names.
  package func countSegments(of keys: SpaceKeys? = nil) throws(StoreError) -> SegmentCount {
    let names = try directory.segmentNames()
    guard let keys else { return SegmentCount(all: names.count) }
    let own = names.compactMap { keys.segment(named: $0) }
    // The first journal segment was made with the space, by no session.
    let written = own.filter { $0.kind != .journal || $0.number != SegmentNumber(1) }
    return SegmentCount(
      all: names.count, own: own.count, sessions: Set(written.map(\.birth)).count)
  }

  /// The odds for the store as it is, after so many sessions that wrote.
  package func chaffOdds(segments: Int, sessions: Int) throws(StoreError) -> ChaffOdds {
    let available = try availableBytes() + Int64(segments * configuration.segmentSize)
    return ChaffOdds(
      segments: segments,
      limitAtBirth: ChaffRule.limitAtBirth(
        availableBytes: available, segmentSize: configuration.segmentSize), sessions: sessions)
  }

  /// What is free on the disk.
  package func availableBytes() throws(StoreError) -> Int64 {
    do throws(Errno) { return try directory.capacity().availableBytes } catch {
      throw StoreError(reading: "", error)
    }
  }
}
