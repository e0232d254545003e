import AlbumModel

/// How great the numbers can be that are read from disk. What is sealed is authentic, not therefore
/// sensible: a greater one is refused as no encoding, so that whoever counts on from a number, or
/// adds it to others, need not think of an overflow. No space comes near them.
package enum NumberLimits {
  /// Of inodes, of contents' versions and statements, and of write sequences.
  package static let inode: UInt64 = 1 << 62
  /// Of segments of each kind.
  package static let segment: UInt32 = .max - 1 << 20
  /// Of what the counters say is taken: well below the two, as numbers are counted on from these.
  package static let counter: UInt64 = 1 << 61
  /// 512 TiB of the smallest segments.
  package static let segmentCounter: UInt32 = 1 << 31
  /// Of frames: nine thousand years at a thousand a second.
  package static let frame: UInt64 = 1 << 48

  /// The version, or statement, after this one. Behind the last, which no space comes near, it begins
  /// anew, so that it can still be stated.
  package static func following(_ number: UInt64) -> UInt64 { number < inode ? number + 1 : 1 }
}

extension ByteReader {
  @_lifetime(self: copy self)
  mutating func readInode() throws(FormatError) -> InodeNumber {
    let number: UInt64 = try read()
    if number == 0 || number > NumberLimits.inode { throw FormatError("inode \(number)") }
    return InodeNumber(number)
  }

  /// One that may be missing, which 0 says.
  @_lifetime(self: copy self)
  mutating func readOptionalInode() throws(FormatError) -> InodeNumber? {
    let number: UInt64 = try read()
    if number > NumberLimits.inode { throw FormatError("inode \(number)") }
    return number == 0 ? nil : InodeNumber(number)
  }

  /// One that may be missing, which 0 says.
  @_lifetime(self: copy self)
  mutating func readSegment() throws(FormatError) -> SegmentNumber {
    let number: UInt32 = try read()
    if number > NumberLimits.segment { throw FormatError("segment \(number)") }
    return SegmentNumber(number)
  }

  @_lifetime(self: copy self)
  mutating func readBirth() throws(FormatError) -> SegmentBirth {
    let birth: UInt64 = try read()
    if birth >= SegmentBirth.limit { throw FormatError("birth \(birth)") }
    return SegmentBirth(birth)
  }

  @_lifetime(self: copy self)
  mutating func readTime() throws(FormatError) -> StoreTime {
    let milliseconds: Int64 = try read()
    if milliseconds < 0 || milliseconds >= StoreTime.limit {
      throw FormatError("time \(milliseconds)")
    }
    return StoreTime(milliseconds: milliseconds)
  }

  /// 0: none.
  @_lifetime(self: copy self)
  mutating func readFrame() throws(FormatError) -> FrameNumber {
    let number: UInt64 = try read()
    if number > NumberLimits.frame { throw FormatError("frame \(number)") }
    return FrameNumber(number)
  }
}
