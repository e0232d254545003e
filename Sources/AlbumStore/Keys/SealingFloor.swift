internal import AlbumFormat
internal import Posix

import struct Synchronization.Atomic

/// The least work that a new slot is sealed with, whatever the conf says.
package enum SealingFloor {
  /// For tests alone: where the environment has this variable with the value `yes`, slots may be
  /// sealed with next to no work, and `init` takes `--kdf interactive`. Read once. Whoever seals so
  /// is warned (`Store.warnings`), so that nobody has it set by accident.
  package static let variable = "ALBUMFS_TESTS_ALLOW_WEAK_PASSWORDS"

  /// The same for tests that call the core in their own process; for good.
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
