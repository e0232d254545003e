/// Texts of hexadecimal digits, two a byte.
package enum Hexadecimal {
  /// Lower-case digits.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map(text).joined()
  }

  package static func text(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  /// The twin of `text`, which also reads upper-case digits; nil for anything else.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    let values = text.utf8.compactMap(value)
    guard values.count == text.utf8.count, values.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }

  /// The value of a digit; nil for any other character.
  package static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension FixedWidthInteger where Self: UnsignedInteger {
  /// The bytes from the most significant one on.
  package var bigEndianBytes: [UInt8] {
    (0..<Self.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
  }
}
