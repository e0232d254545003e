package import AlbumModel

/// The modification time of every segment of every space: a checksum of its bytes, as a time. It reveals
/// nothing that the bytes do not reveal. Yet tools that compare times and sizes, as rsync does by whole
/// seconds, notice each change. Neither recovery nor a check depends on it.
///
/// | at rest | modification and access time |
/// |---|---|
/// | segments | 1980-01-01 UTC plus 2n seconds, n a checksum of the bytes as below |
/// | `keys`, `albumfs.conf`, `albumfs.conf.bak` | the same, with the 64-bit FNV-1a hash of all bytes as the checksum |
/// | `segments`, its 256 folders, the store's own folder | 1980-01-01 UTC |
///
/// The checksum is the XOR of the first 8 bytes, little-endian, of each cell of 256 bytes on the grid. A
/// record that replaces others, or random bytes, always replaces the first 8 bytes of a cell. Bytes after
/// the last whole cell do not count. Its four parts of 16 bits, shifted by 0, 4, 8 and 12 bits and XORed,
/// give 28 bits n. The time is 1980-01-01 UTC plus 2n seconds: before 1998 and in even seconds, so that
/// every file system stores it unchanged.
package struct SegmentChecksum: Equatable, Sendable {
  private(set) var sum: UInt64 = 0

  package init() {}

  /// The checksum of `bytes`, which begin on the grid.
  package init(_ bytes: UnsafeRawBufferPointer) {
    unsafe add(bytes)
  }

  /// Adds cells, or removes cells that were added before. `bytes` begin on the grid.
  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var cell = 0
    while cell + RecordLayout.grid <= bytes.count {
      sum ^= UInt64(
        littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: cell, as: UInt64.self))
      cell += RecordLayout.grid
    }
  }

  /// Adds the first 8 bytes of one cell.
  package mutating func add(_ word: UInt64) { sum ^= word }

  /// The time of a small file with these bytes.
  package static func time(ofSmallFile bytes: [UInt8]) -> Timestamp {
    var checksum = SegmentChecksum()
    checksum.sum = 0xCBF2_9CE4_8422_2325
    for byte in bytes {
      checksum.sum = (checksum.sum ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return checksum.time
  }

  /// The time of a segment with these bytes.
  package static func time(ofSegment bytes: [UInt8]) -> Timestamp {
    unsafe bytes.withUnsafeBytes { unsafe SegmentChecksum($0).time }
  }

  /// The checksum as a time.
  package var time: Timestamp {
    var folded: UInt64 = 0
    for part in 0..<4 {
      folded ^= (sum >> UInt64(16 * part) & 0xFFFF) << UInt64(4 * part)
    }
    return Timestamp(seconds: SegmentChecksum.firstTime.seconds + 2 * Int64(folded))
  }

  /// 1980-01-01 UTC.
  package static let firstTime = Timestamp(seconds: 315_532_800)
  /// True if a time may be a checksum. Times of recent years and times of writes are not.
  package static func isPossible(_ time: Timestamp) -> Bool {
    let count = time.seconds - firstTime.seconds
    return 0..<1 << 29 ~= count && count % 2 == 0 && time.subsecond == 0
  }
}
