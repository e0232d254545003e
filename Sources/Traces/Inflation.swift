/// Decompresses short texts in zlib's format (RFC 1950, RFC 1951). Ignores the checksum at the end.
struct Inflation {
  /// nil if the data is damaged or inflates to more than `limit` bytes.
  static func inflated(zlib data: ArraySlice<UInt8>, atMost limit: Int) -> [UInt8]? {
    let head = data.prefix(2)
    // Method deflate, no preset dictionary.
    guard head.count == 2, head.first! & 0x0F == 8, head.last! & 0x20 == 0 else { return nil }
    var inflation = Inflation(bits: BitReader(data.dropFirst(2)), limit: limit)
    do throws(Damage) { try inflation.run() } catch { return nil }
    return inflation.output
  }

  private struct Damage: Error {}

  private var bits: BitReader
  private let limit: Int
  private var output: [UInt8] = []

  private init(bits: BitReader, limit: Int) {
    self.bits = bits
    self.limit = limit
  }

  private mutating func run() throws(Damage) {
    var isLast = false
    while !isLast {
      isLast = try bits.take(1) == 1
      switch try bits.take(2) {
      case 0: try copyStored()
      case 1: try decode(Inflation.fixedLiterals, Inflation.fixedDistances)
      case 2:
        let (literals, distances) = try readTables()
        try decode(literals, distances)
      default: throw Damage()
      }
    }
  }

  private mutating func append(_ byte: UInt8) throws(Damage) {
    if output.count == limit { throw Damage() }
    output.append(byte)
  }

  private mutating func copyStored() throws(Damage) {
    bits.skipToByte()
    let length = try bits.take(16)
    if try bits.take(16) != ~length & 0xFFFF { throw Damage() }
    for _ in 0..<length { try append(UInt8(try bits.take(8))) }
  }

  // MARK: Huffman codes

  /// A canonical Huffman code: how many symbols have a code of each length, and the symbols in the order of
  /// their codes.
  private struct Code {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    init(lengths: [Int]) {
      for length in lengths where length > 0 { counts[length] += 1 }
      for length in 1..<16 {
        symbols += lengths.indices.filter { lengths[$0] == length }
      }
    }
  }

  private static let fixedLiterals = Code(
    lengths: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  private static let fixedDistances = Code(lengths: [Int](repeating: 5, count: 30))

  private mutating func symbol(_ code: Code) throws(Damage) -> Int {
    var value = 0
    var first = 0
    var index = 0
    for length in 1..<16 {
      value |= try bits.take(1)
      let count = code.counts[length]
      if value - count < first { return code.symbols[index + value - first] }
      index += count
      first = (first + count) << 1
      value <<= 1
    }
    throw Damage()
  }

  /// The order in which a block lists the code lengths of its code for code lengths.
  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  private mutating func readTables() throws(Damage) -> (literals: Code, distances: Code) {
    let literals = try bits.take(5) + 257
    let distances = try bits.take(5) + 1
    var first = [Int](repeating: 0, count: 19)
    for place in 0..<(try bits.take(4) + 4) { first[Inflation.order[place]] = try bits.take(3) }
    let code = Code(lengths: first)
    var lengths: [Int] = []
    while lengths.count < literals + distances {
      switch try symbol(code) {
      case let length where length < 16: lengths.append(length)
      case 16:
        guard let last = lengths.last else { throw Damage() }
        lengths += [Int](repeating: last, count: 3 + (try bits.take(2)))
      case 17: lengths += [Int](repeating: 0, count: 3 + (try bits.take(3)))
      default: lengths += [Int](repeating: 0, count: 11 + (try bits.take(7)))
      }
    }
    if lengths.count > literals + distances { throw Damage() }
    return (Code(lengths: Array(lengths[..<literals])), Code(lengths: Array(lengths[literals...])))
  }

  // MARK: Symbols

  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
  ]
  private static let lengthBits = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
    3073, 4097, 6145, 8193, 12289, 16385, 24577,
  ]

  private mutating func decode(_ literals: Code, _ distances: Code) throws(Damage) {
    while true {
      let symbol = try symbol(literals)
      if symbol < 256 {
        try append(UInt8(symbol))
        continue
      }
      if symbol == 256 { return }
      let place = symbol - 257
      guard place < Inflation.lengthBases.count else { throw Damage() }
      let length = Inflation.lengthBases[place] + (try bits.take(Inflation.lengthBits[place]))
      let kind = try self.symbol(distances)
      guard kind < Inflation.distanceBases.count else { throw Damage() }
      let distance = Inflation.distanceBases[kind] + (try bits.take(max(0, kind / 2 - 1)))
      guard distance <= output.count else { throw Damage() }
      for _ in 0..<length { try append(output[output.count - distance]) }
    }
  }

  /// Reads bits, the lowest of each byte first.
  private struct BitReader {
    private var rest: ArraySlice<UInt8>
    private var held = 0
    private var count = 0

    init(_ data: ArraySlice<UInt8>) { rest = data }

    mutating func take(_ number: Int) throws(Damage) -> Int {
      while count < number {
        guard let byte = rest.popFirst() else { throw Damage() }
        held |= Int(byte) << count
        count += 8
      }
      let bits = held & ((1 << number) - 1)
      held >>= number
      count -= number
      return bits
    }

    mutating func skipToByte() {
      held = 0
      count = 0
    }
  }
}
