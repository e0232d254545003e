/// The number of an inode in its space. It never changes and is never reused. The root is 1.
package struct InodeNumber: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static let root = InodeNumber(1)
  package static func < (a: InodeNumber, b: InodeNumber) -> Bool { a.rawValue < b.rawValue }
}

/// The number of one data, journal or checkpoint segment of a space, counted for each kind from 1. Two
/// copies of a store that are both written to use the same numbers; `SegmentBirth` distinguishes their
/// segments.
package struct SegmentNumber: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var rawValue: UInt32
  package init(_ rawValue: UInt32) { self.rawValue = rawValue }
  package static func < (a: SegmentNumber, b: SegmentNumber) -> Bool { a.rawValue < b.rawValue }
}

/// Identifies the session that made a segment: a random number of 48 bits, never 0. It is part of the
/// segment's name, and so of the associated data of each of its records. Segments of one number that two
/// copies of a store made have different births.
package struct SegmentBirth: Hashable, Sendable, BitwiseCopyable {
  package var rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// The birth of no segment.
  package static let none = SegmentBirth(0)
  /// One more than the greatest birth.
  package static let limit: UInt64 = 1 << 48

  package static func random() -> SegmentBirth { SegmentBirth(.random(in: 1..<limit)) }
}

/// The number of a journal frame, counted from 1 over the whole life of a space.
package struct FrameNumber: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static let none = FrameNumber(0)
  package static func < (a: FrameNumber, b: FrameNumber) -> Bool { a.rawValue < b.rawValue }
  package var next: FrameNumber { FrameNumber(rawValue + 1) }
}

/// The 128-bit name of a segment file: 32 lower-case hexadecimal digits on disk.
package struct SegmentName: Hashable, Sendable, BitwiseCopyable {
  package var high: UInt64
  package var low: UInt64
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// The type under which the kernel's mount table lists mounted spaces.
package enum FileSystemType {
  package static let albumfs = "fuse.albumfs"
}
