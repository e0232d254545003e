/// Reads the numbers and runs of bytes of a structured input. Behind its end it returns zeros and empty runs.
struct Script {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position >= bytes.count }

  mutating func byte() -> UInt8 {
    guard position < bytes.count else { return 0 }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func number<T: FixedWidthInteger & UnsignedInteger>(_: T.Type = T.self) -> T {
    var number: T = 0
    for place in 0..<T.bitWidth / 8 { number |= T(byte()) << T(8 * place) }
    return number
  }

  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(bytes.count, position + count)
    defer { position = end }
    return Array(bytes[position..<end])
  }

  /// Reads a run that begins with its length.
  mutating func run() -> [UInt8] { take(Int(number(UInt16.self))) }

  mutating func rest() -> [UInt8] { take(bytes.count - position) }
}

extension [UInt8] {
  /// The twin of `Script.run`.
  mutating func append(run bytes: [UInt8]) {
    append(UInt8(truncatingIfNeeded: bytes.count))
    append(UInt8(truncatingIfNeeded: bytes.count >> 8))
    self += bytes
  }
}
