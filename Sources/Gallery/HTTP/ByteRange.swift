/// The part of a file that a request asks for (RFC 9110, section 14).
enum ByteRange: Equatable {
  case whole
  case part(Range<Int64>)
  /// Beyond the end.
  case unsatisfiable

  /// Takes one range. Several, and what is no range, mean the whole, as the RFC permits.
  init(_ header: String?, size: Int64) {
    self = .whole
    guard let header, header.hasPrefix("bytes=") else { return }
    let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, !header.contains(",") else { return }
    let (first, last) = (ByteRange.number(ends[0]), ByteRange.number(ends[1]))
    switch (ends[0].isEmpty, first, ends[1].isEmpty, last) {
    case (true, _, false, let count?):
      // The last so many bytes.
      self = count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
    case (false, let from?, true, _):
      self = from >= size ? .unsatisfiable : .part(from..<size)
    case (false, let from?, false, let to?) where from <= to:
      self = from >= size ? .unsatisfiable : .part(from..<min(size, to + 1))
    default: break
    }
  }

  /// Digits only; a number too large counts as the largest but one.
  private static func number(_ text: Substring) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return min(Int64(text) ?? .max, .max - 1)
  }
}
