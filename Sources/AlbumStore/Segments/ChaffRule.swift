internal import AlbumFormat
internal import Glibc
internal import Posix

/// How much chaff stores get, in segments. albumfs records none of it anywhere, so this text is what an
/// owner can say of any store.
///
/// - At birth: log-uniform from none to less than `limit`, which is a 64th of the room on the disk and at
///   most 4 GiB. Each doubling is equally likely: P(n or more) = 1 - ln(n + 1) / ln(limit + 1).
/// - A session that writes adds once with a probability of 1 in 8, and once more after each new segment of
///   its own with a probability of 1 in 96.
/// - One addition is log-uniform from 1 to 16: P(n or more) = 1 - ln(n) / ln(17). It comes at a random
///   moment within the next 10 minutes, or when the session ends.
/// - No addition takes more than a 64th of the room that is left on the disk, or any room that the space
///   itself needs.
/// - `albumfs chaff add` adds any amount.
enum ChaffRule {
  /// The share of the disk's room that chaff may take, at birth and with one addition.
  static let shareOfDisk: Int64 = 64
  /// The limit of chaff at birth, in bytes.
  static let mostAtBirth: Int64 = 4 << 30
  /// One session in this many adds chaff when it starts to write.
  static let sessionsPerAddition = 8
  /// The average number of new segments before an addition.
  static let segmentsPerAddition = 96
  /// The greatest number of segments in one addition.
  static let mostAtOnce = 16
  /// An addition comes within this time.
  static let delay = Duration.seconds(600)

  // MARK: Birth

  /// The limit of segments at birth, for this much room on the disk.
  static func limitAtBirth(availableBytes: Int64, segmentSize: Int) -> Int {
    Int(min(mostAtBirth, max(0, availableBytes) / shareOfDisk) / Int64(segmentSize))
  }

  /// P(n or more segments at birth).
  static func shareAtBirth(atLeast count: Int, limit: Int) -> Double {
    if count <= 0 { return 1 }
    return count >= limit ? 0 : 1 - log(Double(count + 1)) / log(Double(limit + 1))
  }

  /// The number of segments at birth; `uniform` is drawn from 0 to 1.
  static func countAtBirth(limit: Int, uniform: Double) -> Int {
    if limit < 1 { return 0 }
    return min(limit - 1, Int(exp(uniform * log(Double(limit + 1)))) - 1)
  }

  static func randomByteCountAtBirth(of store: Store) throws(StoreError) -> Int64 {
    let size = store.configuration.segmentSize
    if TestHooks.forbidsChaff { return Int64(Geometric.random(mean: 6)) * Int64(size) }
    let capacity: StorageCapacity
    do throws(Errno) { capacity = try store.directory.capacity() } catch {
      throw StoreError(reading: "", error)
    }
    let limit = limitAtBirth(availableBytes: capacity.availableBytes, segmentSize: size)
    return Int64(countAtBirth(limit: limit, uniform: .random(in: 0..<1))) * Int64(size)
  }

  // MARK: Sessions

  /// P(n or more segments in one addition).
  static func shareOfAddition(atLeast count: Int) -> Double {
    if count <= 1 { return 1 }
    return count > mostAtOnce ? 0 : 1 - log(Double(count)) / log(Double(mostAtOnce + 1))
  }

  /// The number of new segments until the next addition; `uniform` is drawn from 0 to 1.
  static func interval(uniform: Double) -> Int {
    1 + Int(log(1 - uniform) / log(1 - 1 / Double(segmentsPerAddition)))
  }

  /// The number of segments in one addition; `uniform` is drawn from 0 to 1.
  static func countOfAddition(uniform: Double) -> Int {
    max(1, min(mostAtOnce, Int(exp(uniform * log(Double(mostAtOnce + 1))))))
  }
}

extension Store {
  /// Warns about a store that only tests may create or use.
  package func warnWhereChaffIsForbidden() {
    if TestHooks.forbidsChaff { warn(.chaffForbiddenForTests) }
  }
}
