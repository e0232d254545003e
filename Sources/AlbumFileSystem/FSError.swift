import AlbumStore

/// Why the file system refused: one case for each thing that a caller can tell apart. The driver
/// maps them to error numbers in one table.
package struct FSError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable, CaseIterable {
    case notFound, exists, notDirectory, isDirectory, notEmpty, notPermitted
    case crossDevice, busy, invalid, nameTooLong, tooManyLinks, tooBig
    case noSpace, quotaExceeded, readOnly
    /// What is on disk does not open, or the disk answered an error.
    case inputOutput
    case noAttribute, attributeTooBig, notSupported
    /// A node id that this mount does not know.
    case stale
    /// lseek beyond the last data or hole.
    case noSuchOffset
  }
  package let code: Code
  /// What failed and why, for the log; empty where the code says it all.
  package let message: String

  package init(_ code: Code, _ message: String = "") {
    self.code = code
    self.message = message
  }

  package var description: String { message.isEmpty ? "\(code)" : "\(code): \(message)" }
}

extension FSError {
  /// What a caller can tell apart of what went wrong in the store.
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

/// Runs a call of the store; its errors become the file system's.
func storing<Result>(_ body: () throws(StoreError) -> Result) throws(FSError) -> Result {
  do throws(StoreError) { return try body() } catch { throw FSError(error) }
}
