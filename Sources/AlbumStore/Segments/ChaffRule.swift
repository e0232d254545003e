internal import AlbumFormat
internal import Glibc
internal import Posix

/// How much chaff stores come by, in segments. Nothing of it is kept anywhere: what is written here is what
/// an owner can say of any store.
///
/// - At birth: log-uniform from none to less than `limit`, which is a 64th of the room on the disk and 4 GiB
///   at most. Each doubling is equally likely: P(n or more) = 1 - ln(n + 1) / ln(limit + 1).
/// - A session that writes adds once with a probability of 1 in 8; and once more after each new segment of
///   its own with a probability of 1 in 96.
/// - One addition is log-uniform from 1 to 16: P(n or more) = 1 - ln(n) / ln(17). It comes at a random moment
///   within the next 10 minutes, or when the session ends.
/// - No addition takes more than a 64th of the room that is left on the disk, or any that the space itself
///   keeps.
/// - `albumfs chaff add` adds as much as somebody likes.
package enum ChaffRule {
  /// Of the room on the disk that chaff may take, at birth and with one addition.
  static let shareOfDisk: Int64 = 64
  /// What no store is born with, in bytes.
  static let mostAtBirth: Int64 = 4 << 30
  /// One session in so many adds chaff when it begins to write.
  static let sessionsPerAddition = 8
  /// So many new segments come on average before an addition.
  static let segmentsPerAddition = 96
  /// The most segments of one addition.
  static let mostAtOnce = 16
  /// An addition comes within so many milliseconds.
  static let delay: Int64 = 600_000

  static let variable = "ALBUMFS_TESTS_FORBID_CHAFF"

  /// True for tests that count segments: where the environment has `variable` with the value `yes`, sessions
  /// add no chaff, and stores are born with some segments only. Read here alone. Whoever makes a store so, or
  /// mounts one, is warned (`Store.warnWhereChaffIsForbidden`), so that nobody has it set by accident.
  package static let isForbiddenByTests: Bool = {
    guard let value = unsafe getenv(variable) else { return false }
    return unsafe String(cString: value) == "yes"
  }()

  // MARK: Birth

  /// A store is born with less than so many segments, where the disk has so much room.
  static func limitAtBirth(availableBytes: Int64, segmentSize: Int) -> Int {
    Int(min(mostAtBirth, max(0, availableBytes) / shareOfDisk) / Int64(segmentSize))
  }

  /// P(n or more segments at birth).
  static func shareAtBirth(atLeast count: Int, limit: Int) -> Double {
    if count <= 0 { return 1 }
    return count >= limit ? 0 : 1 - log(Double(count + 1)) / log(Double(limit + 1))
  }

  /// How many segments a store is born with; `uniform` is drawn from 0 to 1.
  static func countAtBirth(limit: Int, uniform: Double) -> Int {
    if limit < 1 { return 0 }
    return min(limit - 1, Int(exp(uniform * log(Double(limit + 1)))) - 1)
  }

  static func randomByteCountAtBirth(of store: Store) throws(StoreError) -> Int64 {
    let size = store.configuration.segmentSize
    if isForbiddenByTests { return Int64(Geometric.random(mean: 6)) * Int64(size) }
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

  /// How many new segments on comes the next addition; `uniform` is drawn from 0 to 1.
  static func interval(uniform: Double) -> Int {
    1 + Int(log(1 - uniform) / log(1 - 1 / Double(segmentsPerAddition)))
  }

  /// How many segments one addition has; `uniform` is drawn from 0 to 1.
  static func countOfAddition(uniform: Double) -> Int {
    max(1, min(mostAtOnce, Int(exp(uniform * log(Double(mostAtOnce + 1))))))
  }
}

extension Store {
  /// Tells of a store that only tests may make or use so.
  package func warnWhereChaffIsForbidden() {
    if !ChaffRule.isForbiddenByTests { return }
    warn(
      "\(ChaffRule.variable) is set, which is for tests: no chaff is added, so that another space would be "
        + "seen; unset it")
  }
}
