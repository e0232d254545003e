import Logging
import Posix

/// Tells whether an opened space may be changed. Any thread.
final class Health: Sendable {
  private let reason: Mutex<StoreError?>
  private let logger: Logger

  init(isReadOnly: Bool, logger: Logger) {
    self.logger = logger
    let mounted = StoreError(.readOnly, "the space was mounted read-only")
    reason = Mutex(isReadOnly ? mounted : nil)
  }

  var isReadOnly: Bool { readOnlyReason != nil }

  /// The reason why nothing may be changed; nil: all is well.
  var readOnlyReason: StoreError? { reason.withLock { $0 } }

  /// Throws `.readOnly` with the reason where nothing may be changed.
  func requireWritable() throws(StoreError) {
    if let reason = readOnlyReason {
      throw StoreError(
        .readOnly, reason.message, path: reason.path, cause: reason.cause, remedy: reason.remedy)
    }
  }

  /// From now on nothing is written: what the catalog says and what is on disk may differ.
  func turnReadOnly(_ error: StoreError) {
    let isFirst = reason.withLock { reason in
      if reason != nil { return false }
      reason = error
      return true
    }
    if isFirst { logger.critical("the space is read-only from now on: \(error)") }
  }
}
