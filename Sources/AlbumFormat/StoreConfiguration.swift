import AlbumModel

/// `albumfs.conf`, and its equal twin `albumfs.conf.bak`: what albumfs needs before it can try a password.
/// Plain ASCII text. Each line ends with one line feed, and one space separates words:
///
///     albumfs store
///     format 1 segment-size 4194304
///     argon2id 1 operations 3 memory 268435456 salt 00112233445566778899aabbccddeeff
///     crc32 7dab63b6
///
/// 1. The magic line.
/// 2. The format line: the number of the format and the size of every segment in bytes.
/// 3. One to four lines of Argon2id, numbered from 1 in rising order: operations (passes, 1 to 32), memory in
///    bytes (8 KiB to 2 GiB), salt of 16 bytes. Operations times memory, summed over all lines, is at most
///    16 GiB. albumfs tries a password with every line, so this bounds the cost of a conf that an attacker
///    prepared.
/// 4. CRC-32 (as in zlib) of all bytes before this line, eight hexadecimal digits. It detects damage.
///    An attacker who edits the file can recompute it, but the key slots reveal the edit: their associated
///    data are the format line and the Argon2id line that sealed them, and each lists the lines that it
///    trusts (`TrustedLines`).
///
/// The conf never decides how weakly a new slot is sealed. A new slot uses the strongest line that the
/// caller trusts, and never one below `KDFCost.floor`. If the conf has no line that is strong enough,
/// albumfs appends one. It removes no line, because any slot may depend on it.
///
/// Numbers are decimal without leading zeros, hexadecimal digits are lower-case. Each conf has exactly one
/// spelling: a decoder refuses bytes that do not encode to themselves. Every later format keeps the magic
/// line, `format` and its number at the start of the second line, and the CRC as the last line.
package struct StoreConfiguration: Equatable, Sendable {
  package static let format = 1
  /// The greatest length of a conf, in bytes.
  package static let maximumByteCount = 4096
  static let maximumDerivations = 4
  /// The limit for all lines together, in bytes of memory times passes: about 20 s, where the default takes
  /// one.
  static let maximumWork: Int64 = 16 << 30
  private static let magic = "albumfs store"

  /// Bytes of each segment of the store.
  package var segmentSize: Int
  /// The lines that derive keys from passwords; at least one.
  package var derivations: [KeyDerivation]

  package init(segmentSize: Int, derivations: [KeyDerivation]) {
    precondition(SegmentLayout.isValidByteCount(segmentSize) && !derivations.isEmpty)
    self.segmentSize = segmentSize
    self.derivations = derivations
  }

  /// The second line, without its line feed. Every key slot is bound to it.
  package var formatLine: String {
    "format \(StoreConfiguration.format) segment-size \(segmentSize)"
  }

  package func encode() -> [UInt8] {
    var text = "\(StoreConfiguration.magic)\n\(formatLine)\n"
    for derivation in derivations { text += derivation.line + "\n" }
    let sum = String(CRC32(Array(text.utf8)).value, radix: 16)
    text += "crc32 " + String(repeating: "0", count: 8 - sum.utf8.count) + sum + "\n"
    return Array(text.utf8)
  }

  package init(decoding bytes: [UInt8]) throws(ConfigurationError) {
    let lines = try StoreConfiguration.lines(of: bytes)
    let isIntact = StoreConfiguration.isIntact(bytes, lastLine: lines[lines.count - 1])
    let words = lines[1].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count >= 2, words[0] == "format", let format = Int(words[1]) else {
      throw .malformed("its second line names no format")
    }
    if format > StoreConfiguration.format { throw .newerFormat(format, isIntact: isIntact) }
    guard format == StoreConfiguration.format, words.count == 4, words[2] == "segment-size",
      let size = Int(words[3]), SegmentLayout.isValidByteCount(size)
    else { throw .malformed("its second line names no possible segment size") }
    segmentSize = size
    derivations = []
    for line in lines[2..<(lines.count - 1)] {
      derivations.append(try KeyDerivation(line: line))
    }
    guard isIntact else { throw .malformed("its checksum does not fit") }
    try check(against: bytes)
  }

  private func check(against bytes: [UInt8]) throws(ConfigurationError) {
    var former = 0
    for derivation in derivations {
      if derivation.number <= former { throw .malformed("its Argon2id lines are out of order") }
      former = derivation.number
    }
    if derivations.isEmpty { throw .malformed("it has no Argon2id line") }
    if let excess = StoreConfiguration.excess(derivations) { throw .costRefused(excess) }
    if encode() != bytes { throw .malformed("it is not spelled as albumfs does") }
  }

  /// Why trying a password with all these lines would cost too much; nil if it would not.
  package static func excess(_ derivations: [KeyDerivation]) -> String? {
    if derivations.count > maximumDerivations {
      return "\(derivations.count) lines, where \(maximumDerivations) are allowed"
    }
    let work = derivations.reduce(0) { $0 + $1.cost.work }
    if work <= maximumWork { return nil }
    return "operations times memory of all lines is \(work >> 20) MiB, where "
      + "\(maximumWork >> 20) MiB are allowed"
  }

  /// Splits the conf into lines, at least three.
  private static func lines(of bytes: [UInt8]) throws(ConfigurationError) -> [String] {
    guard bytes.count <= maximumByteCount, bytes.starts(with: Array((magic + "\n").utf8)) else {
      throw .notAStore
    }
    guard bytes.last == UInt8(ascii: "\n"), bytes.allSatisfy({ $0 < 0x7f }) else {
      throw .malformed("it was cut short or is no text")
    }
    let lines = bytes.dropLast().split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.count < 3 { throw .malformed("it was cut short") }
    return lines.map { String(decoding: $0, as: UTF8.self) }
  }

  private static func isIntact(_ bytes: [UInt8], lastLine: String) -> Bool {
    let words = lastLine.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, words[0] == "crc32", let sum = UInt32(words[1], radix: 16) else {
      return false
    }
    return CRC32(Array(bytes.dropLast(lastLine.utf8.count + 1))).value == sum
  }
}

/// Why bytes are no conf of this version.
package enum ConfigurationError: Error, Equatable, Sendable {
  /// The magic line is missing.
  case notAStore
  /// Made by a later albumfs; `isIntact` if its checksum matches.
  case newerFormat(Int, isIntact: Bool)
  /// A cost out of bounds; the text names the value and the bound.
  case costRefused(String)
  /// Damaged or edited; the text says in what.
  case malformed(String)

  /// The fault of the conf, for messages; "it" stands for the file.
  package var reason: String {
    switch self {
    case .notAStore: "it does not begin like one"
    case .newerFormat(let format, _): "it claims format \(format)"
    case .costRefused(let what): "its Argon2id cost is absurd (\(what))"
    case .malformed(let what): what
    }
  }
}

/// The cost of Argon2id for a password.
package struct KDFCost: Equatable, Sendable {
  /// Passes over the memory.
  package var operations: UInt64
  /// In bytes.
  package var memory: Int

  package init(operations: UInt64, memory: Int) {
    self.operations = operations
    self.memory = memory
  }

  /// For tests: cheap, and so easy to guess.
  package static let interactive = KDFCost(operations: 1, memory: 8 << 20)
  /// About a second and 256 MiB: libsodium's MODERATE.
  package static let moderate = KDFCost(operations: 3, memory: 256 << 20)
  /// Some seconds and 1 GiB.
  package static let sensitive = KDFCost(operations: 4, memory: 1 << 30)
  /// The least cost of a new slot, whatever the conf says.
  package static let floor = moderate

  /// A conf with a cost outside these bounds is refused: it would exhaust the memory, or protect nothing.
  static let operationsAllowed: ClosedRange<UInt64> = 1...32
  package static let memoryAllowed = (8 << 10)...(2 << 30)

  /// Bytes times passes: the cost of one try.
  package var work: Int64 { Int64(operations) * Int64(memory) }

  /// True if neither passes nor memory are lower.
  package func isAtLeast(_ other: KDFCost) -> Bool {
    operations >= other.operations && memory >= other.memory
  }

  /// For messages: `3 passes over 256 MiB`.
  package var text: String {
    let amount = memory < 1 << 20 ? "\(memory >> 10) KiB" : "\(memory >> 20) MiB"
    return "\(operations) \(operations == 1 ? "pass" : "passes") over \(amount)"
  }
}

/// One Argon2id line of the conf.
package struct KeyDerivation: Equatable, Sendable {
  package static let saltByteCount = 16

  package var number: Int
  package var cost: KDFCost
  package var salt: [UInt8]

  package init(number: Int, cost: KDFCost, salt: [UInt8]) {
    precondition(number > 0 && salt.count == KeyDerivation.saltByteCount)
    self.number = number
    self.cost = cost
    self.salt = salt
  }

  /// The line, without its line feed.
  package var line: String {
    "argon2id \(number) operations \(cost.operations) memory \(cost.memory) salt "
      + Hexadecimal.text(salt)
  }

  init(line: String) throws(ConfigurationError) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 8, words[0] == "argon2id", words[2] == "operations",
      words[4] == "memory", words[6] == "salt", let number = Int(words[1]), number > 0,
      let salt = Hexadecimal.bytes(words[7]), salt.count == KeyDerivation.saltByteCount
    else { throw .malformed("it has a line that is none of Argon2id") }
    // A number too great for Int is also out of bounds.
    guard let operations = UInt64(words[3]), KDFCost.operationsAllowed.contains(operations) else {
      throw .costRefused(
        "operations \(words[3]), where \(KDFCost.operationsAllowed.lowerBound) to "
          + "\(KDFCost.operationsAllowed.upperBound) are allowed")
    }
    guard let memory = Int(words[5]), KDFCost.memoryAllowed.contains(memory) else {
      throw .costRefused("memory \(words[5]) bytes, where 8 KiB to 2 GiB are allowed")
    }
    self.init(number: number, cost: KDFCost(operations: operations, memory: memory), salt: salt)
  }
}
