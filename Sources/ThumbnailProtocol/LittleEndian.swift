/// What a message that is not one has wrong with it.
package enum MalformedMessage: Error, Equatable, Sendable {
  /// Fewer bytes than the message needs.
  case truncated
  /// More bytes than the message says.
  case trailingBytes
  /// Does not begin with the magic of this protocol and version.
  case unknownMagic
  /// A kind, code or format that this version does not know.
  case unknownKind
  /// A byte that must be zero is not.
  case reservedBytes
  /// A number outside `ThumbnailLimits`, or a text that is not printable ASCII.
  case outOfRange
}

extension [UInt8] {
  /// Appends the number, lowest byte first.
  mutating func append<T: FixedWidthInteger & UnsignedInteger>(littleEndian number: T) {
    for shift in stride(from: 0, to: T.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: number >> T(shift)))
    }
  }

  /// The number at this offset, lowest byte first; throws `.truncated` where it does not fit.
  func number<T: FixedWidthInteger & UnsignedInteger>(_: T.Type, at offset: Int)
    throws(MalformedMessage) -> T
  {
    let size = T.bitWidth / 8
    guard offset >= 0, count >= size, offset <= count - size else { throw .truncated }
    var number: T = 0
    for index in (0..<size).reversed() { number = number << 8 | T(self[offset + index]) }
    return number
  }

  /// Throws `.reservedBytes` unless all bytes of the range, which must lie inside, are zero.
  func requireZero(_ range: Range<Int>) throws(MalformedMessage) {
    guard range.upperBound <= count else { throw .truncated }
    for index in range where self[index] != 0 { throw .reservedBytes }
  }
}
