internal import AlbumFormat
internal import AlbumModel
package import AlbumSecrets
internal import Glibc
internal import Posix

/// How common unexplained data is among stores that hold only chaff, as `ChaffRule` adds it. An owner may
/// point to this.
package struct ChaffOdds: Sendable {
  /// The number of all segments of the store.
  let segments: Int
  /// The limit of chaff at the birth of a store of this size, on a disk of this size.
  let limitAtBirth: Int
  /// The number of sessions that wrote.
  let sessions: Int

  init(segments: Int, limitAtBirth: Int, sessions: Int) {
    self.segments = segments
    self.limitAtBirth = limitAtBirth
    self.sessions = sessions
  }

  /// P(n or more of the segments are chaff): from the birth of the store, and from the sessions that wrote
  /// the others. Segments that are gone count as never written, and chaff that a user added by hand does
  /// not count, so that the real share is greater.
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

  /// The expected number of additions by this many sessions that wrote this many segments.
  static func meanAdditions(sessions: Int, segments: Int) -> Double {
    Double(sessions) / Double(ChaffRule.sessionsPerAddition)
      + Double(segments) / Double(ChaffRule.segmentsPerAddition)
  }

  /// P(exactly n segments are added) for each n below `count`. Additions are rare and independent, so their
  /// number is taken as Poisson's, and the sum is computed by Panjer's recursion. Values have a scale of
  /// their own, because the first may be too small for a Double.
  static func added(mean: Double, below count: Int) -> [Double] {
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

/// The segments of a store, as they can be counted.
package struct SegmentCount: Sendable {
  package var all: Int
  /// The number of those that belong to the space whose keys were given.
  package var own: Int?
  /// The number of that space's sessions that made them; sessions without remaining segments do not show.
  package var sessions: Int?
}

extension Store {
  /// Counts the segments, and those of a space by their names.
  package func countSegments(of keys: SpaceKeys? = nil) throws(StoreError) -> SegmentCount {
    let names = try directory.segmentNames()
    guard let keys else { return SegmentCount(all: names.count) }
    let own = names.compactMap { keys.segment(named: $0) }
    // The first journal segment was made with the space, by no session, and no name says who made a fence.
    let written = own.filter {
      $0.kind != .fence && ($0.kind != .journal || $0.number != SegmentNumber(1))
    }
    return SegmentCount(
      all: names.count, own: own.count, sessions: Set(written.map(\.birth)).count)
  }

  /// The odds for the store in its current state, after this many sessions that wrote.
  package func chaffOdds(segments: Int, sessions: Int) throws(StoreError) -> ChaffOdds {
    let available = try availableBytes() + Int64(segments * configuration.segmentSize)
    return ChaffOdds(
      segments: segments,
      limitAtBirth: ChaffRule.limitAtBirth(
        availableBytes: available, segmentSize: configuration.segmentSize), sessions: sessions)
  }

  /// Free room on the disk.
  package func availableBytes() throws(StoreError) -> Int64 {
    do throws(Errno) { return try directory.capacity().availableBytes } catch {
      throw StoreError(reading: "", error)
    }
  }
}
