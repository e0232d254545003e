/// The number of an inode in its space: never changes, is never reused. The root is 1.
package struct InodeNumber: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static let root = InodeNumber(1)
  package static func < (a: InodeNumber, b: InodeNumber) -> Bool { a.rawValue < b.rawValue }
}

/// The number of one data segment, journal segment or checkpoint segment of a space, counted for
/// each kind on its own from 1. Two copies of a store that live on apart give out the same numbers;
/// `SegmentBirth` tells their segments apart.
package struct SegmentNumber: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var rawValue: UInt32
  package init(_ rawValue: UInt32) { self.rawValue = rawValue }
  package static func < (a: SegmentNumber, b: SegmentNumber) -> Bool { a.rawValue < b.rawValue }
}

/// The session that made a segment: a random number of 48 bits, never 0, that a session gets when it
/// begins. It is part of the segment's name and so of the associated data of each of its records. Two
/// segments of one number, made by two copies of a store that live on apart, have different births.
package struct SegmentBirth: Hashable, Sendable, BitwiseCopyable {
  package var rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// The birth of no segment.
  package static let none = SegmentBirth(0)
  /// One more than the greatest birth.
  package static let limit: UInt64 = 1 << 48

  package static func random() -> SegmentBirth { SegmentBirth(.random(in: 1..<limit)) }
}

/// A time of a space's own clock, in milliseconds. It never falls: within a session it goes with the
/// clock that counts from the start of the machine, and a session begins at the wall clock's time,
/// or where the last one ended if that is later. It measures how long ago something happened; file
/// times, which copying tools set, are never asked.
package struct StoreTime: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var milliseconds: Int64
  package init(milliseconds: Int64) { self.milliseconds = milliseconds }
  package static let none = StoreTime(milliseconds: 0)
  /// The greatest time that a frame can state: 56 bits.
  package static let limit: Int64 = 1 << 56
  package static func < (a: StoreTime, b: StoreTime) -> Bool { a.milliseconds < b.milliseconds }

  /// Whole seconds.
  package var seconds: Int64 { milliseconds / 1000 }

  /// How long the store keeps what it does not need any more, so that a copy under way finds it:
  /// 15 minutes.
  package static let grace: Int64 = 15 * 60 * 1000

  /// What is stated before this time was in the store when a copy was begun that took less than the
  /// grace time, and of which this is the newest time.
  package var floor: StoreTime { StoreTime(milliseconds: milliseconds - StoreTime.grace) }
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

/// The room before a buffer of content. A record is sealed and decrypted in place, and its first bytes are
/// its own header, which lands before the content. Reading puts back what was there; sealing does not.
/// So nobody else may use these bytes during either call.
package enum ReadHeadroom {
  /// Bytes.
  package static let byteCount = 64
}

/// One fixed content of a photo: what a thumbnail is made of. A change of content makes a new
/// version.
package struct PhotoVersion: Hashable, Sendable, BitwiseCopyable {
  package var inode: InodeNumber
  package var version: UInt64
  package init(inode: InodeNumber, version: UInt64) {
    self.inode = inode
    self.version = version
  }
}

/// Why a photo got no thumbnail. Raw values are stored: they never change their meaning.
package enum ThumbnailFailure: UInt8, Error, CaseIterable, Sendable {
  /// By its content it is no picture of a kind that can be read.
  case notAPicture = 1
  /// More bytes or pixels than are decoded, or it needs more memory than the decoder has.
  case tooLarge = 2
  /// Nothing of it can be seen.
  case damaged = 3
  /// The decoder's process ended while it had the photo, and so did a fresh one.
  case workerDied = 4
  /// The decoder did not end in time.
  case timedOut = 5
  /// A fault of the decoder's own.
  case `internal` = 6
}
