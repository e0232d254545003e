/// The room before a buffer of content. A record is sealed and decrypted in place, and its first bytes are
/// its own header, which comes before the content. Reading restores these bytes afterwards; sealing does not.
/// So no other code may use them during either call.
package enum ReadHeadroom {
  /// Bytes.
  package static let byteCount = 64
}

extension Int64 {
  /// The sum of two sizes, at most `Int64.max`: sparse files can have more bytes together.
  package func saturatingAdd(_ size: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(size)
    return overflows ? .max : sum
  }
}

extension Sequence<Int64> {
  /// The sum of sizes, at most `Int64.max`.
  package var saturatingSum: Int64 { reduce(0) { $0.saturatingAdd($1) } }
}
