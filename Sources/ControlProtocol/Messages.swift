// What a command asks the daemon of a mount, and what it answers. Both sides are the same program,
// but not always of the same release: a daemon may run for months while the program is replaced.
//
// Within a version requests, replies, kinds of failure and optional fields are only added. A daemon
// answers a request that it does not know with `failed` (`unsupported`) and keeps the connection. A
// client passes over interim replies that it does not know, and reports a final one as `unsupported`.

package enum ControlVersion {
  /// Of the envelope (`MessageStream`). Rises when an older program could misunderstand a message.
  package static let current = 1
}

/// One question. A connection may ask several, one after the other.
package enum ControlRequest: Codable, Sendable, Equatable {
  /// Answered by `status`.
  case status
  /// Returns when what was closed before is on disk and its thumbnails are made. Answered by
  /// `progress` now and then, in the end by `done` or `failed` (`timedOut`). No timeout: for ever.
  case sync(timeoutSeconds: Double?)
  /// Makes thumbnails again of the photos at and under a path of the mount; empty: of all.
  case thumbnails(under: String, which: ThumbnailSelection)
  /// Moves photos that lie right in an album into its Photo; nil: in all albums.
  case tidy(album: String?)
  /// Gives the room of removed files back, as far as it is worth it. Answered by `moved` now and then,
  /// in the end by `compacted` or `failed`. Ends early when the client is gone.
  case compact
  /// Returns when the session has ended: sent before an unmount. Answered by `progress` now and then, so
  /// that the daemon notices a client that is gone, in the end by `ended`.
  case end
}

package enum ThumbnailSelection: String, Codable, Sendable, Equatable {
  /// Those that were given up.
  case failed
  /// All that are not there: failed ones, and removed ones.
  case missing
  /// Every one, those that are there too. What the user put into Thumb himself stays.
  case all
}

package enum ControlReply: Codable, Sendable, Equatable {
  case status(MountStatus)
  /// More to come. How many photos still wait for a thumbnail.
  case progress(pending: Int)
  /// More to come. How many bytes of how many were moved.
  case moved(bytes: Int64, of: Int64)
  case compacted(CompactionSummary)
  /// The request is done; what it did, in numbers.
  case done(ControlSummary)
  case failed(Failure)
  /// The mount has gone and the session is over; nil: everything is on disk, else why it is not.
  case ended(Failure?)

  /// True where another reply to the same request follows.
  var isInterim: Bool {
    switch self {
    case .progress, .moved: true
    case .status, .compacted, .done, .failed, .ended: false
    }
  }
}

package struct ControlSummary: Codable, Sendable, Equatable {
  /// Photos queued for a thumbnail, or moved by tidy.
  package var count: Int
  /// Things left undone that the user should know of, one line each.
  package var notes: [String]
  package init(count: Int = 0, notes: [String] = []) {
    self.count = count
    self.notes = notes
  }
}

/// What `albumfs compact` did, and shows; its JSON form is this, word for word. Bytes.
package struct CompactionSummary: Codable, Sendable, Equatable {
  package var version: Int = ControlVersion.current
  /// Given back to the disk.
  package var freed: Int64
  /// Will be given back when the grace time is over, in `graceSeconds` at the latest.
  package var waiting: Int64
  package var graceSeconds: Int64
  /// What the space takes, less what waits.
  package var taken: Int64
  /// What the content of its files takes of that.
  package var living: Int64
  /// Segments that stay as they are, since content in them does not open.
  package var unreadableSegments: Int

  package init(
    freed: Int64, waiting: Int64, graceSeconds: Int64, taken: Int64, living: Int64,
    unreadableSegments: Int
  ) {
    self.freed = freed
    self.waiting = waiting
    self.graceSeconds = graceSeconds
    self.taken = taken
    self.living = living
    self.unreadableSegments = unreadableSegments
  }
}

/// One photo without a thumbnail, and why.
package struct FailedThumbnail: Codable, Sendable, Equatable {
  package var path: String
  package var reason: String
  package init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }
}

/// What `albumfs status` shows; its JSON form is this, word for word.
package struct MountStatus: Codable, Sendable, Equatable {
  package struct Thumbnails: Codable, Sendable, Equatable {
    /// How many there are. nil: the daemon is of a version that does not count them.
    package var made: Int?
    package var pending: Int
    package var failed: Int
    /// At most `listLimit` of them.
    package var failures: [FailedThumbnail]
    /// Why none is made, where that is so (no thumbnailer found, read-only).
    package var disabled: String?
    package static let listLimit = 1000
    package init(
      made: Int?, pending: Int, failed: Int, failures: [FailedThumbnail], disabled: String?
    ) {
      self.made = made
      self.pending = pending
      self.failed = failed
      self.failures = failures
      self.disabled = disabled
    }
  }

  package var version: Int = ControlVersion.current
  package var store: String
  package var mountPoint: String
  package var pid: Int32
  package var albums: Int
  package var photos: Int
  /// Files that are neither photos nor thumbnails that albumfs made. nil: the daemon is of a version that
  /// counts them as photos.
  package var otherFiles: Int?
  /// Files of every kind, photos and thumbnails included.
  package var files: Int
  /// Length of all files, in bytes.
  package var bytes: Int64
  package var thumbnails: Thumbnails
  /// When everything up to then was on disk, in seconds since 1970; nil: nothing written yet.
  package var lastBarrier: Double?
  package var readOnly: Bool
  /// Why it is read-only; nil when it is not.
  package var readOnlyReason: String?
  /// Why nothing more can be stored for now; nil: there is room.
  package var shortage: String?
  /// Segments that compaction left as they are, since content in them does not open.
  package var unreadableSegments: Int
  /// What recovery found when it was mounted, one line each; empty after a clean unmount.
  package var recovery: [String]
  /// The daemon's last messages, oldest first.
  package var messages: [String]

  package init(
    store: String, mountPoint: String, pid: Int32, albums: Int, photos: Int, otherFiles: Int?,
    files: Int, bytes: Int64, thumbnails: Thumbnails, lastBarrier: Double?, readOnly: Bool,
    readOnlyReason: String?, shortage: String?, unreadableSegments: Int, recovery: [String],
    messages: [String]
  ) {
    self.store = store
    self.mountPoint = mountPoint
    self.pid = pid
    self.albums = albums
    self.photos = photos
    self.otherFiles = otherFiles
    self.files = files
    self.bytes = bytes
    self.thumbnails = thumbnails
    self.lastBarrier = lastBarrier
    self.readOnly = readOnly
    self.readOnlyReason = readOnlyReason
    self.shortage = shortage
    self.unreadableSegments = unreadableSegments
    self.recovery = recovery
    self.messages = messages
  }
}
