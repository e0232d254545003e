/// One content of a photo, from which a thumbnail is made, and how it is turned. Each change of the content
/// makes a new version.
package struct PhotoVersion: Hashable, Sendable, BitwiseCopyable {
  package var inode: InodeNumber
  package var version: UInt64
  package var rotation: Rotation
  package init(inode: InodeNumber, version: UInt64, rotation: Rotation = .none) {
    self.inode = inode
    self.version = version
    self.rotation = rotation
  }
}

/// Why a photo has no thumbnail. Raw values are stored and never change their meaning.
package enum ThumbnailFailure: UInt8, Error, CaseIterable, Sendable {
  /// The content is not a picture of a supported kind.
  case notAPicture = 1
  /// It has more bytes or pixels than the limit, or needs more memory than the decoder has.
  case tooLarge = 2
  /// The decoder could decode no part of it.
  case damaged = 3
  /// The decoder's process died with this photo, and so did a fresh one.
  case workerDied = 4
  /// The decoder did not finish in time.
  case timedOut = 5
  /// The decoder itself failed.
  case `internal` = 6
}
