import Foundation

/// A generator that returns the same numbers for the same seed (SplitMix64), so that a failed random test
/// can be repeated. Tests print their seed.
package struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  package let seed: UInt64

  package init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// A generator for one place in the tests. With ALBUMFS_SEED, a hexadecimal number such as that of a
  /// commit, its numbers depend on that and on the place, so each commit tries others and a run can be
  /// repeated.
  package init(file: StaticString = #fileID, line: UInt = #line) {
    guard let run = SeededRandom.run else {
      self.init(seed: .random(in: 0 ... .max))
      return
    }
    // FNV-1a.
    let place = "\(file):\(line)".utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    self.init(seed: run ^ place)
  }

  /// The seed of this run of the tests; nil if every run tries others.
  package static let run = ProcessInfo.processInfo.environment["ALBUMFS_SEED"].flatMap {
    UInt64($0.prefix(16), radix: 16)
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
