/// The room before a buffer of content. A record is sealed and decrypted in place, and its first bytes are
/// its own header, which comes before the content. Reading restores these bytes afterwards; sealing does not.
/// So no other code may use them during either call.
package enum ReadHeadroom {
  /// Bytes.
  package static let byteCount = 64
}

extension Int64 {
  /// The sum, or the nearest number that there is: sparse files can have more bytes together.
  package func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }

  /// The difference, or the nearest number that there is.
  package func saturatingSubtract(_ other: Int64) -> Int64 {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (other < 0 ? .max : .min) : difference
  }

  /// The nearest whole number towards zero; 0 for what is no number.
  package init(saturating value: Double) {
    self = Int64(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : value > 0 ? .max : 0)
  }

  /// The quotient rounded down, and the rest, which has the divisor's sign.
  package func quotientAndFloorRemainder(dividingBy divisor: Int64) -> (Int64, Int64) {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }
}

extension Sequence<Int64> {
  /// The sum of sizes, at most `Int64.max`.
  package var saturatingSum: Int64 { reduce(0) { $0.saturatingAdd($1) } }
}
