/// A generator that returns the same numbers for the same seed (SplitMix64), so that a failed random test
/// can be repeated. Tests print their seed.
package struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  package let seed: UInt64

  package init(seed: UInt64 = UInt64.random(in: 0...UInt64.max)) {
    self.seed = seed
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count + 8)
    while result.count < count {
      var word = next()
      unsafe withUnsafeBytes(of: &word) { unsafe result.append(contentsOf: $0) }
    }
    result.removeLast(result.count - count)
    return result
  }
}
