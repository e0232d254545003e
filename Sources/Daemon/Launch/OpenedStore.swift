package import AlbumStore
package import ControlProtocol

/// A store that a daemon has opened, and what must hold before it writes there.
package struct OpenedStore: Sendable {
  let store: Store
  let requirement: @Sendable () -> Failure?

  /// `requirement` waits for a trial that goes on meanwhile. It returns why the store is not fit for a
  /// session that writes; nil if it is.
  package init(_ store: Store, requirement: @escaping @Sendable () -> Failure? = { nil }) {
    (self.store, self.requirement) = (store, requirement)
  }

  func require() throws(Failure) {
    if let failure = requirement() { throw failure }
  }
}
