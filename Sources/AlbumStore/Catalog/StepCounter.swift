import struct Synchronization.Atomic

/// In a debug build, counts how many extents and nodes of their trees one hold of the catalog's lock
/// touches, so that no call can block the space for a file with very many. It counts steps and not time: the
/// same calls give the same count on any machine. In a release build it does nothing.
final class StepCounter: Sendable {
  /// About a millisecond of a release build.
  static let limit = 1 << 16

  #if DEBUG
  private let steps = Atomic<Int>(0)
  private let permitted = Atomic<Int>(limit)

  /// Steps since the hold began.
  var taken: Int { steps.load(ordering: .relaxed) }
  #endif

  @inline(__always)
  func count(_ more: Int = 1) {
    #if DEBUG
    steps.wrappingAdd(more, ordering: .relaxed)
    #endif
  }

  /// Permits this hold more than the limit. The caller documents why.
  func permit(_ more: Int) {
    #if DEBUG
    permitted.wrappingAdd(more, ordering: .relaxed)
    #endif
  }

  /// Called at the start of a hold.
  func begin() {
    #if DEBUG
    steps.store(0, ordering: .relaxed)
    permitted.store(StepCounter.limit, ordering: .relaxed)
    #endif
  }

  /// Called at the end of a hold.
  func end() {
    #if DEBUG
    let (steps, permitted) = (taken, permitted.load(ordering: .relaxed))
    assert(
      steps <= permitted,
      "\(steps) extents touched under one hold of the catalog's lock, \(permitted) permitted")
    #endif
  }
}
