import Posix

/// The catalog and the lock that guards it. A debug build checks that each hold touches a bounded number
/// of extents (`StepCounter`).
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
}
