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
    case interrupted
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
