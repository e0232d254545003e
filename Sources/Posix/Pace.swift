/// Tells a peer that sends too little: fewer than `least` bytes in a time.
package struct Pace: Sendable {
  private let least: Int
  private let patience: Duration
  private var start = MonotonicTime.now
  private var bytes = 0

  package init(atLeast least: Int, each patience: Duration) {
    (self.least, self.patience) = (least, patience)
  }

  package mutating func add(_ count: Int) {
    bytes += count
    if bytes >= least { restart() }
  }

  /// Begins the time anew, as where the peer is not the one to wait for.
  package mutating func restart() { (start, bytes) = (.now, 0) }

  package var isTooSlow: Bool { MonotonicTime.now > start + patience }
}
