/// Thrown for bytes that are no valid encoding. The description says what the decoder was reading, and why.
package struct FormatError: Error, Equatable, Sendable, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}

/// A bounds-checked little-endian cursor: every read either fits or throws.
@safe package struct ByteReader: ~Escapable {
  private let bytes: RawSpan
  package private(set) var position = 0

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  @_lifetime(borrow bytes)
  package init(_ bytes: borrowing [UInt8]) { self.bytes = unsafe bytes.span.bytes }

  package var remaining: Int { bytes.byteCount - position }
  package var isAtEnd: Bool { position == bytes.byteCount }

  @_lifetime(self: copy self)
  package mutating func read<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type = T.self)
    throws(FormatError) -> T
  {
    if remaining < MemoryLayout<T>.size { throw FormatError("cut short") }
    let value = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: T.self)
    position += MemoryLayout<T>.size
    return T(littleEndian: value)
  }

  /// Returns the next `count` bytes.
  @_lifetime(self: copy self)
  package mutating func read(count: Int) throws(FormatError) -> [UInt8] {
    if count < 0 || remaining < count { throw FormatError("cut short") }
    let start = position
    position += count
    return unsafe bytes.withUnsafeBytes { unsafe Array($0[start..<start + count]) }
  }

  /// Returns a cursor over the next `count` bytes.
  @_lifetime(copy self)
  package mutating func slice(count: Int) throws(FormatError) -> ByteReader {
    if count < 0 || remaining < count { throw FormatError("cut short") }
    let part = bytes.extracting(position..<position + count)
    position += count
    return ByteReader(part)
  }
}

/// The twin of `ByteReader`: appends little-endian integers and bytes.
package struct ByteWriter: Sendable {
  package var bytes: [UInt8] = []
  package init() {}
  package init(reserving capacity: Int) { bytes.reserveCapacity(capacity) }

  package mutating func write<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
    var little = value.littleEndian
    unsafe withUnsafeBytes(of: &little) { unsafe bytes.append(contentsOf: $0) }
  }

  package mutating func write(_ more: [UInt8]) { bytes.append(contentsOf: more) }

  /// Overwrites a number that was written earlier.
  mutating func patch(_ value: UInt32, at position: Int) {
    for byte in 0..<4 { bytes[position + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte)) }
  }
}
