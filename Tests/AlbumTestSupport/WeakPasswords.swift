package import AlbumFormat
import AlbumStore
import Posix

// Tests seal and try some thousand slots. With a password's real cost they would take days.

extension KDFCost {
  /// A cost of almost nothing. Allows the core to seal with it, in this process and for good.
  package static var forTests: KDFCost {
    TestHooks.allowWeakPasswords()
    return KDFCost(operations: 1, memory: 8 << 10)
  }
}

/// The environment in which the built programs seal with next to no work.
package enum WeakPasswords {
  package static let environment = [TestHooks.Variable.allowWeakPasswords.rawValue: "yes"]
}
