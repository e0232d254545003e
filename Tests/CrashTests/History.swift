/// The states of a space, call by call, and the promises about them. Positions are counts of the disk's
/// events.
struct History: Sendable {
  struct Instant: Sendable {
    var snapshot: Snapshot
    var tree: PlainTree
    /// The number of events before the call that made this instant. The disk cannot know of it with so many
    /// events or fewer.
    var start: Int
    /// After this number of events the instant may not come back, because a mount has recorded that it never
    /// existed.
    var end = Int.max
  }

  /// A promise: after this number of events, no state older than this instant is found.
  struct Floor: Sendable {
    var position: Int
    var instant: Int
  }

  private(set) var instants: [Instant] = []
  /// Promises of fsync, barrier and unmount. They hold whatever happens.
  private(set) var synced: [Floor] = []
  /// Promises of close. They hold when the process is killed.
  private(set) var closed: [Floor] = []

  var last: Int { instants.count - 1 }

  mutating func append(_ snapshot: Snapshot, _ tree: PlainTree, start: Int) {
    let start = max(start, instants.last?.start ?? -1)
    instants.append(Instant(snapshot: snapshot, tree: tree, start: start))
  }

  mutating func recordSync(of instant: Int, at position: Int) {
    synced.append(Floor(position: position, instant: instant))
  }

  mutating func recordClose(at position: Int) {
    closed.append(Floor(position: position, instant: last))
  }

  /// Records that a mount found this instant. The instants after it never existed.
  mutating func resume(at instant: Int, start: Int, position: Int) {
    for dead in instants.indices where dead > instant {
      instants[dead].end = min(instants[dead].end, position)
    }
    var tree = instants[instant].tree
    tree.endProcess()
    append(instants[instant].snapshot, tree, start: start)
    recordSync(of: last, at: position)
  }

  /// Returns the oldest instant that may be found after this number of events.
  func floor(at position: Int, afterKill: Bool) -> Int {
    let floors = afterKill ? synced + closed : synced
    return floors.filter { $0.position <= position }.map(\.instant).max() ?? 0
  }

  /// Returns the instant that a state equals, among those that are allowed.
  func find(_ snapshot: Snapshot, at position: Int, afterKill: Bool) -> Int? {
    let floor = floor(at: position, afterKill: afterKill)
    return instants.indices.last { place in
      // A call that returned before this position was made, whether it reached the disk or not.
      let isMade = place == floor || instants[place].start < position
      return place >= floor && isMade && position < instants[place].end
        && instants[place].snapshot == snapshot
    }
  }

  /// Describes why no instant fits.
  func complaint(about snapshot: Snapshot, at position: Int, afterKill: Bool) -> String {
    let floor = floor(at: position, afterKill: afterKill)
    if let place = instants.lastIndex(where: { $0.snapshot == snapshot }) {
      let instant = instants[place]
      return position >= instant.end
        ? "instant \(place) is back, which a mount had stated never to have been"
        : "it is instant \(place), older than \(floor), which was promised"
    }
    let nearest = instants.indices.suffix(from: floor).map { place in
      "\(place): \(snapshot.difference(from: instants[place].snapshot))"
    }
    return "it is no instant of history (\(nearest.joined(separator: "; ")))"
  }
}
