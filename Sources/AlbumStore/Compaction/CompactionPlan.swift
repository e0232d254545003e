import AlbumModel

/// Selects the segments to empty: pure arithmetic.
///
/// Emptying a segment costs its living content and frees the rest, so segments with the most garbage come
/// first (greedy; old photos do not die earlier than new ones, so age does not matter). The plan takes only
/// as many as the goal needs, and none unless it gains at least one segment, because the copies need whole
/// segments too.
struct CompactionPlan {
  /// When to start, how far to go, and what is never worth its cost.
  struct Goal {
    /// Start when the store exceeds this many times its living content,
    let begin: Double
    /// and continue until it does not exceed this many times.
    let end: Double
    /// Skip segments with a greater living share: emptying one at 0.9 writes nine times what it frees.
    let fullest: Double

    /// Well below the promised 1.15, and with a gap, so that compaction does not start again with each
    /// removed file.
    static let background = Goal(begin: 1.12, end: 1.07, fullest: 0.9)
    /// For a user who asked for it and waits.
    static let demanded = Goal(begin: 1.03, end: 1.02, fullest: 0.95)
  }

  /// A segment that may be emptied.
  struct Candidate {
    let number: SegmentNumber
    /// Bytes of it that live.
    let living: Int64
  }

  /// The rest of the store.
  struct Store {
    let segmentSize: Int64
    /// Bytes of all segments of the space that are not retired.
    let total: Int64
    /// Bytes of content that live in all of them.
    let living: Int64
    /// Bytes free in the segment that is being filled.
    let openRoom: Int64
  }

  /// In the order of emptying.
  private(set) var victims: [Candidate] = []

  init() {}

  init(_ candidates: [Candidate], of store: Store, goal: Goal) {
    if Double(store.total) <= Double(store.living) * goal.begin { return }
    let sorted = candidates.sorted {
      ($0.living, $0.number.rawValue) < ($1.living, $1.number.rawValue)
    }
    var moved: Int64 = 0
    var best = (count: 0, gain: Int64(0))
    for (place, candidate) in sorted.enumerated() {
      if Double(candidate.living) > Double(store.segmentSize) * goal.fullest { break }
      moved += candidate.living
      let filled = max(0, moved - store.openRoom)
      let needed = (filled + store.segmentSize - 1) / store.segmentSize
      let gain = Int64(place + 1) - needed
      if gain > best.gain { best = (place + 1, gain) }
      let left = store.total - best.gain * store.segmentSize
      if Double(left) <= Double(store.living) * goal.end { break }
    }
    victims = Array(sorted.prefix(best.count))
  }

  /// Takes the next victims, at least one, with no more than `limit` living bytes in total.
  mutating func takeNext(limit: Int64) -> [Candidate] {
    var sum: Int64 = 0
    var count = 0
    for victim in victims {
      sum += victim.living
      if count > 0, sum > limit { break }
      count += 1
    }
    defer { victims.removeFirst(count) }
    return Array(victims.prefix(count))
  }

  /// Puts victims back that were not emptied; they are next again.
  mutating func putBack(_ candidates: [Candidate]) { victims.insert(contentsOf: candidates, at: 0) }

  /// Bytes that remain to be moved.
  var remaining: Int64 { victims.reduce(0) { $0 + $1.living } }
}
