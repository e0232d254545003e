package import AlbumModel

/// Properties that all segments of a store share.
package enum SegmentLayout {
  /// The default size of a segment for `init`, in bytes.
  package static let defaultByteCount = 4 << 20
  package static let minimumByteCount = 256 << 10
  package static let maximumByteCount = 64 << 20

  /// The size of a segment for a disk with this much free space. Besides its content, a space needs about ten
  /// segments: for its journal, two checkpoints, and the reserve for a full disk.
  package static func byteCount(on availableBytes: Int64) -> Int {
    switch availableBytes {
    case ..<(1 << 30): minimumByteCount
    case ..<(8 << 30): 1 << 20
    default: defaultByteCount
    }
  }

  /// True for a power of two from 256 KiB to 64 MiB.
  package static func isValidByteCount(_ count: Int) -> Bool {
    count >= minimumByteCount && count <= maximumByteCount && count & (count - 1) == 0
  }
}

extension SegmentName {
  /// The name of the segment's file: 32 lower-case hexadecimal digits.
  package var text: String { Hexadecimal.text(high.bigEndianBytes + low.bigEndianBytes) }

  /// Parses a file name; nil unless it is 32 lower-case hexadecimal digits.
  package init?(text: String) {
    let digits = Array(text.utf8)
    guard digits.count == 32 else { return nil }
    var words: [UInt64] = [0, 0]
    for (place, digit) in digits.enumerated() {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
      default: return nil
      }
      words[place / 16] = words[place / 16] << 4 | UInt64(value)
    }
    self.init(high: words[0], low: words[1])
  }
}
