import AlbumFormat
import Testing

// albumfs.conf has one spelling only, and is distinguished from damage, from other files and from the conf of
// a newer albumfs. No conf can make albumfs take all memory.

@Suite struct StoreConfigurationTests {
  /// The example in the documentation.
  private let example = """
    albumfs store
    format 1 segment-size 4194304
    argon2id 1 operations 3 memory 268435456 salt 00112233445566778899aabbccddeeff
    crc32 7dab63b6

    """

  private let configuration = StoreConfiguration(
    segmentSize: 4 << 20,
    derivations: [
      KeyDerivation(
        number: 1, cost: .moderate, salt: (0..<16).map { UInt8($0 * 0x11) })
    ])

  @Test func `the documented example is what is written and read`() throws {
    #expect(String(decoding: configuration.encode(), as: UTF8.self) == example)
    #expect(try StoreConfiguration(decoding: Array(example.utf8)) == configuration)
  }

  @Test func `several Argon2id lines are kept in order`() throws {
    var several = configuration
    several.derivations.append(
      KeyDerivation(number: 7, cost: .sensitive, salt: [UInt8](repeating: 9, count: 16)))
    #expect(try StoreConfiguration(decoding: several.encode()) == several)
    several.derivations.reverse()
    #expect(problem(several.encode()) == .malformed("its Argon2id lines are out of order"))
  }

  @Test func `any change of any byte is noticed`() {
    let bytes = configuration.encode()
    for place in bytes.indices {
      for change in [UInt8(1), 2, 4, 8, 16, 32, 64, 128] {
        var changed = bytes
        changed[place] ^= change
        #expect(problem(changed) != nil, "byte \(place)")
      }
    }
  }

  @Test func `a conf cut short is noticed wherever it ends`() {
    let bytes = configuration.encode()
    for count in 0..<bytes.count { #expect(problem(Array(bytes[..<count])) != nil) }
    #expect(problem(bytes + [10]) != nil)
    #expect(problem(bytes + bytes) != nil)
  }

  @Test func `a newer format is distinguished from damage`() {
    #expect(
      problem(withSum("albumfs store\nformat 2 anything else\nand more\n"))
        == .newerFormat(2, isIntact: true))
    #expect(
      problem(Array(example.replacing("format 1", with: "format 3").utf8))
        == .newerFormat(3, isIntact: false))
    #expect(problem(withSum("albumfs store\nformat 0 segment-size 4194304\n"))?.isMalformed == true)
  }

  @Test(arguments: [
    "", "\n", "[Interface]\nkey = 1\n", "albumfs stor\n", "ALBUMFS STORE\nformat 1\n",
  ])
  func `another file is no conf`(text: String) {
    #expect(problem(Array(text.utf8)) == .notAStore)
  }

  @Test(arguments: [
    ("operations 3", "operations 33"), ("operations 3", "operations 0"),
    ("operations 3", "operations 99999999999999999999999"), ("operations 3", "operations -1"),
    ("memory 268435456", "memory 2147483649"), ("memory 268435456", "memory 8191"),
    ("memory 268435456", "memory 99999999999999999999999"),
  ])
  func `an absurd cost is refused, with a checksum that fits and without`(
    from: String, to: String
  ) {
    let edited = example.replacing(from, with: to)
    #expect(problem(Array(edited.utf8))?.isCost == true)
    #expect(problem(withSum(edited.split(separator: "crc32")[0] + ""))?.isCost == true)
  }

  @Test func `the bounds themselves are allowed`() throws {
    for cost in [
      KDFCost(operations: 1, memory: 8 << 10), KDFCost(operations: 32, memory: 512 << 20),
      KDFCost(operations: 8, memory: 2 << 30),
      .interactive, .moderate, .sensitive,
    ] {
      var other = configuration
      other.derivations[0].cost = cost
      #expect(try StoreConfiguration(decoding: other.encode()) == other)
    }
  }

  @Test func `all lines together cost no more than one may`() throws {
    var several = configuration
    several.derivations = (1...4).map {
      KeyDerivation(number: $0, cost: .sensitive, salt: [UInt8](repeating: 9, count: 16))
    }
    #expect(try StoreConfiguration(decoding: several.encode()) == several)
    var dear = several
    dear.derivations[3].cost.operations += 1
    #expect(problem(dear.encode())?.isCost == true)
    for cost in [KDFCost(operations: 32, memory: 2 << 30), KDFCost(operations: 9, memory: 2 << 30)]
    {
      var one = configuration
      one.derivations[0].cost = cost
      #expect(problem(one.encode())?.isCost == true)
    }
    var many = several
    many.derivations = (1...5).map {
      KeyDerivation(
        number: $0, cost: KDFCost(operations: 1, memory: 8 << 10),
        salt: [UInt8](repeating: 9, count: 16))
    }
    #expect(problem(many.encode())?.isCost == true)
  }

  @Test func `no less than the floor is neither fewer passes nor less memory`() {
    let floor = KDFCost.floor
    #expect(floor == KDFCost(operations: 3, memory: 256 << 20))
    #expect(floor.isAtLeast(.floor) && KDFCost.sensitive.isAtLeast(.floor))
    for other in [
      KDFCost.interactive, KDFCost(operations: 2, memory: 2 << 30),
      KDFCost(operations: 32, memory: 256 << 20 - 1),
    ] {
      #expect(!other.isAtLeast(.floor))
    }
  }

  @Test(arguments: [
    ("segment-size 4194304", "segment-size 4194305"), ("segment-size 4194304", "segment-size 0"),
    ("segment-size 4194304", "segment-size 04194304"),
    ("segment-size 4194304", "segment-size +4194304"), ("format 1", "format  1"),
    ("argon2id 1", "argon2id 0"), ("argon2id 1", "argon2i 1"), ("operations 3", "operations 03"),
    ("aabb", "AABB"), ("ccddeeff", "ccddeef"), ("salt", "pepper"),
  ])
  func `other spellings are refused, even with a checksum that fits`(from: String, to: String) {
    let edited = example.replacing(from, with: to)
    #expect(problem(withSum(edited.split(separator: "crc32")[0] + ""))?.isMalformed == true)
  }

  @Test func `random bytes never end the process`() {
    for _ in 0..<2000 {
      var bytes = configuration.encode()
      for _ in 0..<Int.random(in: 1...8) {
        bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
      }
      _ = problem(bytes)
      _ = problem(Array(bytes.shuffled()))
    }
  }

  private func problem(_ bytes: [UInt8]) -> ConfigurationError? {
    do throws(ConfigurationError) {
      _ = try StoreConfiguration(decoding: bytes)
      return nil
    } catch {
      return error
    }
  }

  private func withSum(_ text: String) -> [UInt8] {
    var sum = UInt32.max
    for byte in text.utf8 {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : sum >> 1 ^ 0xEDB8_8320 }
    }
    let digits = String(~sum, radix: 16)
    let padded = String(repeating: "0", count: 8 - digits.count) + digits
    return Array((text + "crc32 \(padded)\n").utf8)
  }
}

extension ConfigurationError {
  fileprivate var isMalformed: Bool { if case .malformed = self { true } else { false } }
  fileprivate var isCost: Bool { if case .costRefused = self { true } else { false } }
}
