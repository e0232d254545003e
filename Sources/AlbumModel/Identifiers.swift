/// The number of an inode in its space: never changes, is never reused. The root is 1.
package struct InodeNumber: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var rawValue: UInt64
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  package static let root = InodeNumber(1)
  package static func < (a: InodeNumber, b: InodeNumber) -> Bool { a.rawValue < b.rawValue }
}

/// The number of one data segment, journal segment or checkpoint segment of a space, counted for
/// each kind on its own from 1, never reused. Its file name is a keyed hash of kind and number.
package struct SegmentNumber: Hashable, Comparable, Sendable, BitwiseCopyable {
  package var rawValue: UInt32
  package init(_ rawValue: UInt32) { self.rawValue = rawValue }
  package static func < (a: SegmentNumber, b: SegmentNumber) -> Bool { a.rawValue < b.rawValue }
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

/// The room before a read buffer that a reader may overwrite: a record opens in place, and its
/// first bytes are its own header, which lands before the content.
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
