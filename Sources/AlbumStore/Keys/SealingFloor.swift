internal import AlbumFormat
internal import Posix

import struct Synchronization.Atomic

/// The least cost of a new slot, whatever the conf says.
package enum SealingFloor {
  /// For tests only: if this environment variable is `yes`, new slots may be sealed at almost no cost, and
  /// `init` accepts `--kdf interactive`. Read once. Every use warns (`Store.warnings`), so that nobody sets
  /// it by accident.
  package static let variable = "ALBUMFS_TESTS_ALLOW_WEAK_PASSWORDS"

  /// The same for tests that call the core in their own process. It cannot be undone.
  package static func liftForTests() { isLiftedForTests.store(true, ordering: .relaxed) }
  private static let isLiftedForTests = Atomic(false)

  private static let isLiftedByEnvironment: Bool =
    PathCalls.variable(variable) == "yes"

  package static var isLifted: Bool {
    isLiftedByEnvironment || isLiftedForTests.load(ordering: .relaxed)
  }

  static var current: KDFCost {
    isLifted
      ? KDFCost(operations: 1, memory: KDFCost.memoryAllowed.lowerBound) : KDFCost.floor
  }
}
