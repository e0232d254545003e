import Posix

import struct Synchronization.Atomic

/// The catalog and the lock that guards it. A debug build checks that each hold touches a bounded number
/// of extents, and of records of history and of the tables that grow (`StepCounter`).
final class CatalogLock: Sendable {
  private let catalog: Mutex<Catalog>

  init(_ catalog: consuming sending Catalog) { self.catalog = Mutex(catalog, rank: .catalog) }

  func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Catalog) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if DEBUG
    try catalog.withLock { catalog throws(Failure) in
      catalog.extents.steps.begin()
      let result = try body(&catalog)
      catalog.extents.steps.end()
      return result
    }
    #else
    try catalog.withLock(body)
    #endif
  }

  /// See `Mutex.withLockIfFree`. `body` visits no extents.
  func withLockIfFree<Result>(_ body: (inout sending Catalog) -> sending Result) -> sending Result?
  {
    catalog.withLockIfFree(body)
  }

  /// See `Mutex.held`.
  func held(as name: String) -> HeldLock? { catalog.held(as: name) }
}

extension CatalogLock {
  /// Puts another catalog of the space in the place of this one. References to inodes stay.
  func replace(by new: consuming sending Catalog) {
    var next: Catalog? = consume new
    catalog.withLock { catalog in
      guard var taken = next.take() else { return }
      taken.takeReferences(of: catalog)
      catalog = taken
    }
  }
}

/// Counts, in a debug build, how many extents and nodes of their trees are touched under one hold of the
/// catalog's lock, so that no call may stop the space for a file with very many of them. It also counts what
/// walks over history look at, what a frame states, and what moves where a table grows or is packed, because
/// of which no call may stop a space with very many files. It counts steps and not time: the same calls give
/// the same count on any machine. In a release build it does nothing.
final class StepCounter: Sendable {
  /// About a millisecond of a release build.
  static let limit = 1 << 16

  #if DEBUG
  private let steps = Atomic<Int>(0)
  private let permitted = Atomic<Int>(limit)
  private let longest = Atomic<Int>(0)
  private let ended = Atomic<Int>(0)

  /// Steps since the hold began.
  var taken: Int { steps.load(ordering: .relaxed) }
  /// The most steps of a hold.
  var most: Int { longest.load(ordering: .relaxed) }
  /// How many holds there were.
  var holds: Int { ended.load(ordering: .relaxed) }
  #endif

  @inline(__always)
  func count(_ more: Int = 1) {
    #if DEBUG
    steps.wrappingAdd(more, ordering: .relaxed)
    #endif
  }

  /// Permits this hold more than the limit. The caller says why it needs them.
  func permit(_ more: Int) {
    #if DEBUG
    permitted.wrappingAdd(more, ordering: .relaxed)
    #endif
  }

  /// Called when a hold begins.
  func begin() {
    #if DEBUG
    steps.store(0, ordering: .relaxed)
    permitted.store(StepCounter.limit, ordering: .relaxed)
    #endif
  }

  /// Called when a hold ends.
  func end() {
    #if DEBUG
    let (steps, permitted) = (taken, permitted.load(ordering: .relaxed))
    longest.max(steps, ordering: .relaxed)
    ended.wrappingAdd(1, ordering: .relaxed)
    assert(
      steps <= permitted,
      "\(steps) extents and records touched under one hold of the catalog's lock, \(permitted) permitted"
    )
    #endif
  }
}
