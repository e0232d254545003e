import AlbumModel

/// The limits of numbers that are read from disk. Sealed numbers are authentic, but need not be sensible. A
/// decoder refuses greater ones, so that code which adds to a number need not handle overflow. No space comes
/// near these limits.
package enum NumberLimits {
  /// For inodes, write sequences, and the versions and statements of contents.
  package static let inode: UInt64 = 1 << 62
  /// For segments of each kind.
  package static let segment: UInt32 = .max - 1 << 20
  /// For counters: well below the limits above, since new numbers are counted from these.
  package static let counter: UInt64 = 1 << 61
  /// This many of the smallest segments hold 512 TiB.
  package static let segmentCounter: UInt32 = 1 << 31
  /// For frames: nine thousand years at a thousand a second.
  package static let frame: UInt64 = 1 << 48

  /// The version, or statement, after this one. After the greatest, which no space comes near, it starts
  /// again at 1, so that it can still be encoded.
  package static func following(_ number: UInt64) -> UInt64 { number < inode ? number + 1 : 1 }
}

extension ByteReader {
  @_lifetime(self: copy self)
  mutating func readInode() throws(FormatError) -> InodeNumber {
    let number: UInt64 = try read()
    if number == 0 || number > NumberLimits.inode { throw FormatError("inode \(number)") }
    return InodeNumber(number)
  }

  /// 0 means none.
  @_lifetime(self: copy self)
  mutating func readOptionalInode() throws(FormatError) -> InodeNumber? {
    let number: UInt64 = try read()
    if number > NumberLimits.inode { throw FormatError("inode \(number)") }
    return number == 0 ? nil : InodeNumber(number)
  }

  /// 0 means none.
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

  /// 0 means none.
  @_lifetime(self: copy self)
  mutating func readFrame() throws(FormatError) -> FrameNumber {
    let number: UInt64 = try read()
    if number > NumberLimits.frame { throw FormatError("frame \(number)") }
    return FrameNumber(number)
  }
}
