import Glibc

/// Distinguishes random bytes from others. Every file of a store except its two confs must look like
/// `/dev/urandom`.
///
/// Examines the bytes, and the differences of neighbouring bytes, which are also uniform and independent if
/// the bytes are (a serial test). For both it requires:
///
/// - over the whole, chi-square with 255 degrees of freedom, by Wilson and Hilferty's cube root within 8.5
///   deviations: chance exceeds that less than once in 10^16.
/// - over each 512 bytes, the commonest value comes less than 26 times where 2 are expected: chance exceeds
///   that once in 10^17 for each sector. So a sector of zeros does not hide in a large file.
///
/// A run examines less than 10^5 files of 10^7 sectors, so a false alarm is rarer than 10^-9 a run.
package struct UniformBytes {
  package static let sectorSize = 512
  private static let mostInSector = 26
  private static let deviations = 8.5

  private var counts = [Int](repeating: 0, count: 256)
  private var steps = [Int](repeating: 0, count: 256)
  private var byteCount = 0
  private var stepCount = 0
  /// The first sector that does not look random.
  private var oddSector: Int?

  package init() {}

  package init(_ bytes: [UInt8]) {
    add(bytes)
  }

  /// Adds a whole file. There is no difference between the last byte of one file and the first byte of the
  /// next.
  package mutating func add(_ bytes: [UInt8]) {
    for start in stride(from: 0, to: bytes.count, by: Self.sectorSize) {
      addSector(bytes, start..<min(bytes.count, start + Self.sectorSize))
    }
  }

  private mutating func addSector(_ bytes: [UInt8], _ range: Range<Int>) {
    var (values, differences) = ([Int](repeating: 0, count: 256), [Int](repeating: 0, count: 256))
    for place in range {
      values[Int(bytes[place])] += 1
      if place > 0 { differences[Int(bytes[place] &- bytes[place - 1])] += 1 }
    }
    if max(values.max() ?? 0, differences.max() ?? 0) >= Self.mostInSector, oddSector == nil {
      oddSector = range.lowerBound
    }
    byteCount += range.count
    stepCount += differences.reduce(0, +)
    for value in 0..<256 {
      counts[value] += values[value]
      steps[value] += differences[value]
    }
  }

  /// The reason why these bytes are not random; nil if they may be.
  package var fault: String? {
    if let oddSector { return "the 512 bytes at \(oddSector) repeat one value or one step" }
    for (what, counts, total) in [("bytes", counts, byteCount), ("steps", steps, stepCount)] {
      // With fewer bytes, the approximation by chi-square does not hold.
      if total < 256 * 8 { continue }
      let expected = Double(total) / 256
      let chiSquare = counts.reduce(0) {
        $0 + (Double($1) - expected) * (Double($1) - expected) / expected
      }
      let deviation =
        (cbrt(chiSquare / 255) - (1 - 2 / (9 * 255.0))) / (2 / (9 * 255.0)).squareRoot()
      if abs(deviation) > Self.deviations {
        return "chi-square of the \(what) is \(chiSquare), \(deviation) deviations off"
      }
    }
    return nil
  }
}
