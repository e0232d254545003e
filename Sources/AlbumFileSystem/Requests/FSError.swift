import AlbumStore

/// Why a call of the file system failed: one case for each error that a caller can distinguish. The driver
/// maps them to error numbers in one table.
package struct FSError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable, CaseIterable {
    case notFound, exists, notDirectory, isDirectory, notEmpty, notPermitted
    case crossDevice, busy, invalid, nameTooLong, tooManyLinks, tooBig
    case noSpace, quotaExceeded, readOnly
    /// The user has locked the space.
    case locked
    /// Content on disk does not decrypt, or the disk returned an error.
    case inputOutput
    case noAttribute, attributeTooBig, notSupported
    /// A node id that this mount does not know.
    case stale
    /// A time that the space cannot keep.
    case timeOutOfRange
    /// lseek beyond the last data or hole.
    case noSuchOffset
  }
  package let code: Code
  /// The failed action and the reason, for the log; empty if the code says it all.
  package let message: String

  package init(_ code: Code, _ message: String = "") {
    self.code = code
    self.message = message
  }

  package var description: String { message.isEmpty ? "\(code)" : "\(code): \(message)" }
}

extension FSError {
  /// Maps an error of the store to the codes that a caller can distinguish.
  init(_ error: StoreError) {
    let code: Code =
      switch error.code {
      case .noSpace: .noSpace
      case .quotaExceeded: .quotaExceeded
      case .readOnly: .readOnly
      default: .inputOutput
      }
    self.init(code, error.message)
  }
}

/// Runs a call of the store and translates its errors.
func storing<Result>(_ body: () throws(StoreError) -> Result) throws(FSError) -> Result {
  do throws(StoreError) { return try body() } catch { throw FSError(error) }
}
