import Logging
import Posix

/// Tells whether an opened space may be changed. Any thread.
final class Health: Sendable {
  private let reason: Mutex<StoreError?>
  private let logger: Logger

  init(isReadOnly: Bool, logger: Logger) {
    self.logger = logger
    let mounted = StoreError(.readOnly, "the space was mounted read-only")
    reason = Mutex(isReadOnly ? mounted : nil, rank: .leaf)
  }

  var isReadOnly: Bool { readOnlyReason != nil }

  /// Why nothing may be changed; nil if changes are possible.
  var readOnlyReason: StoreError? { reason.withLock { $0 } }

  /// Throws `.readOnly` with the reason if nothing may be changed.
  func requireWritable() throws(StoreError) {
    if let reason = readOnlyReason {
      throw StoreError(
        .readOnly, reason.message, path: reason.path, cause: reason.cause, remedy: reason.remedy)
    }
  }

  /// Ends all writing: the catalog and the disk may differ.
  func turnReadOnly(_ error: StoreError) {
    let isFirst = reason.withLock { reason in
      if reason != nil { return false }
      reason = error
      return true
    }
    if isFirst { logger.critical("the space is read-only from now on: \(error)") }
  }
}
