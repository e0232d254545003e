/// The checksum CRC-32 of zlib, zip and PNG (ISO 3309): the polynomial 0xEDB88320, reflected, inverted at
/// both ends. Takes eight bytes at a time.
package struct CRC32 {
  private var state = UInt32.max

  package init() {}

  /// Returns the checksum of the bytes.
  package init(_ bytes: [UInt8]) { add(bytes[...]) }

  /// The checksum of all bytes that were added.
  package var value: UInt32 { ~state }

  private static let tables: [[UInt32]] = {
    var tables = [[UInt32]](repeating: [UInt32](repeating: 0, count: 256), count: 8)
    for byte in 0..<256 {
      var value = UInt32(byte)
      for _ in 0..<8 { value = value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
      tables[0][byte] = value
    }
    for byte in 0..<256 {
      for depth in 1..<8 {
        let last = tables[depth - 1][byte]
        tables[depth][byte] = last >> 8 ^ tables[0][Int(last & 0xFF)]
      }
    }
    return tables
  }()

  /// Goes on with further bytes.
  package mutating func add(_ bytes: ArraySlice<UInt8>) {
    let tables = CRC32.tables
    var sum = state
    var place = bytes.startIndex
    while place + 8 <= bytes.endIndex {
      var low = sum
      for index in 0..<4 { low ^= UInt32(bytes[place + index]) << UInt32(8 * index) }
      sum = 0
      for index in 0..<4 {
        sum ^= tables[7 - index][Int(low >> UInt32(8 * index) & 0xFF)]
        sum ^= tables[3 - index][Int(bytes[place + 4 + index])]
      }
      place += 8
    }
    while place < bytes.endIndex {
      sum = sum >> 8 ^ tables[0][Int((sum ^ UInt32(bytes[place])) & 0xFF)]
      place += 1
    }
    state = sum
  }
}
