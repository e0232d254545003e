// The requests of commands and the replies of a mount's daemon. Both sides are the same program, but not
// always of the same release: a daemon may run for months while the program is replaced.
//
// Within a version, a release only adds requests, replies, kinds of failure and optional fields. A daemon
// replies to an unknown request with `failed` (`unsupported`) and keeps the connection. A client skips
// unknown interim replies, and reports an unknown final reply as `unsupported`.

enum ControlVersion {
  /// The version of the envelope (`MessageStream`). It rises when an older program could misread a message.
  static let current = 1
}

/// One request. A connection may send several, one after the other.
package enum ControlRequest: Codable, Sendable, Equatable {
  /// The reply is `status`.
  case status
  /// The reply is `description`, at once.
  case describe
  /// Waits until everything that was closed before is on disk and its thumbnails are made. The replies are
  /// `progress` now and then, and at the end `done` or `failed` (`timedOut`). Without a timeout it may wait
  /// for ever.
  case sync(timeoutSeconds: Double?)
  /// Waits until everything that was closed before is on disk, and for no thumbnail. The reply is `done`.
  case barrier
  /// Makes thumbnails again for the photos at and below a path of the mount; the empty path: all photos.
  case thumbnails(under: String, which: ThumbnailSelection)
  /// Moves photos that lie directly in an album into its Photo; nil: in all albums.
  case tidy(album: String?)
  /// The same, but changes nothing. The notes name the photos that would move.
  case tidyPreview(album: String?)
  /// Moves the photos of an album into albums below it by their day of capture. A preview changes nothing:
  /// the notes name the photos that would move, and where.
  case tidyByDate(album: String, preview: Bool)
  /// Moves the photos of the last `tidy` of this mount back to where they were.
  case tidyUndo
  /// Returns the room of removed files to the disk, as far as that is worthwhile. The replies are `moved` now
  /// and then, and at the end `compacted` or `failed`. Stops early when the client disconnects.
  case compact
  /// Lists deleted files, from the beginning or from the `next` of the reply before. The reply is
  /// `deletedFiles`.
  case deletedFiles(from: UInt32)
  /// Gives deleted files their names again. The reply is `done` with their number; the notes name those that
  /// got another name.
  case restoreDeleted(DeletedSelection)
  /// Ends the keeping of deleted files for good. `consent` proves that the user has given a password again
  /// (`SpaceKeys.consent`). The reply is `done` with their number.
  case purgeDeleted(DeletedSelection, consent: String)
  /// The reply is `picture` with the thumbnail of a deleted file, or `failed` (`usage`) if there is none.
  case deletedThumbnail(number: UInt64)
  /// The reply is `deletedSettings`.
  case deletedSettings
  /// Changes how long deleted files stay. If some stay for less time than before, `consent` is needed. The
  /// reply is `deletedSettings`.
  case setDeletedSettings(DeletedFileSettings, consent: String?)
  /// The reply is `snapshots`, the oldest first.
  case snapshots
  /// Makes a snapshot with a name. The reply is `snapshots` with that one.
  case makeSnapshot(name: String)
  /// Removes snapshots; `consent` as for `purgeDeleted`. The reply is `done` with their number.
  case removeSnapshots(names: [String], consent: String)
  /// Brings back what was at a path, the empty one for all, in the snapshot of that name, or in the first
  /// from that time on (`2026-11-26T10.00.00Z`). The reply is `done` with the number of files; the notes
  /// name those that got another name.
  case restoreSnapshot(name: String, path: String)
  /// Compares two snapshots, which are named in the same way, or one with the present. The notes of the reply
  /// `done` are the differences.
  case compareSnapshots(old: String, new: String?)
  /// Decodes a photo in a cell and returns it at most `edge` pixels long, before any thumbnail. The path
  /// leads from the root of the space. The reply is `picture` or `failed`.
  case preview(path: [UInt8], edge: Int)
  /// Asks whether this daemon serves the space of that name (`SpaceKeys.memoryName`). The reply is `done`
  /// with the count 1 or 0.
  case serves(space: String)
  /// The thread's next request to remove or rename the name is for the file with this inode: where the name
  /// leads to another one, it finds nothing. The reply is `done`.
  case means(name: [UInt8], inode: UInt64, thread: Int32)
  /// The daemon refuses to open anything in the space, wherever that is mounted, removes its mount from the
  /// tree, and ends when the last open file is closed. The reply is `done`, at once; its count is that of the
  /// open files.
  case lock
  /// Waits for the end of the session; a client sends this before an unmount. The replies are `progress` now
  /// and then, so that the daemon notices a disconnected client, and at the end `ended`.
  case end
}

package enum ThumbnailSelection: String, Codable, Sendable, Equatable {
  /// Photos whose thumbnail failed.
  case failed
  /// Photos without a thumbnail: failed and removed ones.
  case missing
  /// All photos, even those that have a thumbnail. Files that the user put into Thumb stay.
  case all
}

package enum ControlReply: Codable, Sendable, Equatable {
  case status(MountStatus)
  case description(MountDescription)
  /// Interim. The number of photos that still wait for a thumbnail.
  case progress(pending: Int)
  /// Interim: the number of bytes that were moved, and that will be.
  case moved(bytes: Int64, of: Int64)
  case compacted(CompactionSummary)
  case deletedFiles(DeletedFilePage)
  case deletedSettings(DeletedFileSettings)
  case snapshots([SnapshotEntry])
  /// A JPEG, PNG or WebP in Base64.
  case picture(base64: String)
  /// The request succeeded; the summary has its numbers.
  case done(ControlSummary)
  case failed(Failure)
  /// The mount is gone and the session has ended; nil if everything is on disk, otherwise why not.
  case ended(Failure?)

  /// True where another reply to the same request follows.
  var isInterim: Bool {
    switch self {
    case .progress, .moved: true
    case .status, .description, .compacted, .deletedFiles, .deletedSettings, .snapshots, .picture,
      .done, .failed, .ended:
      false
    }
  }
}

/// Facts about a mount that the mount table does not show.
package struct MountDescription: Codable, Sendable, Equatable {
  package var store: String
  /// The long edge of thumbnails in pixels; nil if the daemon's version does not report it.
  package var thumbnailEdge: Int?
  package init(store: String, thumbnailEdge: Int? = nil) {
    self.store = store
    self.thumbnailEdge = thumbnailEdge
  }
}

package struct ControlSummary: Codable, Sendable, Equatable {
  /// Photos that were queued for a thumbnail, or that tidy moved.
  package var count: Int
  /// Notes for the user about photos that were left out, one line each.
  package var notes: [String]
  package init(count: Int = 0, notes: [String] = []) {
    self.count = count
    self.notes = notes
  }
}

/// The result of `albumfs compact`. Its JSON form is the output of `--json`. Sizes in bytes.
package struct CompactionSummary: Codable, Sendable, Equatable {
  package var version: Int = ControlVersion.current
  /// Returned to the disk.
  package var freed: Int64
  /// Will be returned when the grace time is over, after `graceSeconds` at the latest.
  package var waiting: Int64
  package var graceSeconds: Int64
  /// The size of the space, without `waiting`.
  package var taken: Int64
  /// The part of `taken` that the content of its files needs.
  package var living: Int64
  /// Segments that compaction did not touch because content in them does not decrypt.
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

/// A photo without a thumbnail, and the reason.
package struct FailedThumbnail: Codable, Sendable, Equatable {
  package var path: String
  package var reason: String
  package init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }
}

/// The result of `albumfs status`. Its JSON form is the output of `--json`.
package struct MountStatus: Codable, Sendable, Equatable {
  /// How far a mount for reading follows the writer.
  package struct Following: Codable, Sendable, Equatable {
    /// It shows what the writer had on disk then, in seconds since 1970.
    package var lastLook: Double
    /// Why it has not looked since; nil if it looks.
    package var problem: String?

    package init(lastLook: Double, problem: String?) {
      self.lastLook = lastLook
      self.problem = problem
    }
  }

  /// A store on a network does not respond.
  package struct Outage: Codable, Sendable, Equatable {
    /// In seconds since 1970.
    package var since: Double
    package var reason: String

    package init(since: Double, reason: String) {
      self.since = since
      self.reason = reason
    }
  }

  /// How much of the space is in the object storage where its store lies.
  package struct Remote: Codable, Sendable, Equatable {
    /// Everything up to this time is there, in seconds since 1970; nil if this mount has sent nothing yet.
    package var until: Double?
    /// What waits on this machine.
    package var unsentBytes: Int64
    /// Why the last attempt to send something failed; nil if it did not.
    package var problem: String?

    package init(until: Double?, unsentBytes: Int64, problem: String?) {
      self.until = until
      self.unsentBytes = unsentBytes
      self.problem = problem
    }
  }

  package struct Thumbnails: Codable, Sendable, Equatable {
    /// The number of thumbnails; nil if the daemon's version does not count them.
    package var made: Int?
    package var pending: Int
    package var failed: Int
    /// Files at a photo's place of which no thumbnail can be made, because they are no pictures of a known
    /// kind; nil if the daemon's version does not count them.
    package var unsupported: Int?
    /// The failed ones, at most `listLimit`.
    package var failures: [FailedThumbnail]
    /// True if there are more than listed; nil if the daemon's version does not report it.
    package var failuresCut: Bool?
    /// Why albumfs makes no thumbnails (no thumbnailer found, read-only); nil if it does.
    package var disabled: String?
    /// Why videos get none; nil if they do, or if `disabled` says it for all.
    package var noneOfVideos: String?
    package static let listLimit = 1000
    package init(
      made: Int?, pending: Int, failed: Int, failures: [FailedThumbnail], disabled: String?,
      unsupported: Int? = nil, ofVideos: String? = nil
    ) {
      self.made = made
      self.pending = pending
      self.failed = failed
      self.failures = failures
      self.disabled = disabled
      self.unsupported = unsupported
      failuresCut = failures.count < failed
      noneOfVideos = ofVideos
    }
  }

  /// What the space keeps of deleted files.
  package struct Deleted: Codable, Sendable, Equatable {
    package var files: Int
    /// The length of their content, as far as no other file has it.
    package var bytes: Int64
    /// About how much of `bytes` and `snapshotBytes` a full disk may cost.
    package var bytesGivenUp: Int64
    /// How long the oldest has been deleted, in seconds of use; nil if there is none.
    package var oldestSeconds: Int64?
    /// Very many files that were deleted within an hour; nil if there were few.
    package var burst: Burst?
    package var settings: DeletedFileSettings
    /// The number of snapshots; nil if the daemon's version has none.
    package var snapshots: Int?
    /// The length of the content that nothing but snapshots show.
    package var snapshotBytes: Int64?

    package struct Burst: Codable, Sendable, Equatable {
      package var files: Int
      /// In seconds since 1970.
      package var first: Int64
      package var last: Int64
      package init(files: Int, first: Int64, last: Int64) {
        self.files = files
        self.first = first
        self.last = last
      }
    }

    package init(
      files: Int, bytes: Int64, bytesGivenUp: Int64, oldestSeconds: Int64?, burst: Burst? = nil,
      settings: DeletedFileSettings, snapshots: Int? = nil, snapshotBytes: Int64? = nil
    ) {
      self.snapshots = snapshots
      self.snapshotBytes = snapshotBytes
      self.burst = burst
      self.files = files
      self.bytes = bytes
      self.bytesGivenUp = bytesGivenUp
      self.oldestSeconds = oldestSeconds
      self.settings = settings
    }
  }

  package var version: Int = ControlVersion.current
  package var store: String
  package var mountPoint: String
  package var pid: Int32
  package var albums: Int
  package var photos: Int
  /// Films at a photo's place; nil if the daemon's version counts them as other files.
  package var videos: Int?
  /// Files that are neither photos, films nor thumbnails made by albumfs; nil if the daemon's version counts
  /// them as photos.
  package var otherFiles: Int?
  /// Files of every kind, including photos and thumbnails.
  package var files: Int
  /// Total length of all files, in bytes.
  package var bytes: Int64
  package var thumbnails: Thumbnails
  /// Deleted files; nil if the daemon's version keeps none.
  package var deleted: Deleted?
  /// Everything up to this time is on disk, in seconds since 1970; nil if nothing was written yet.
  package var lastBarrier: Double?
  package var readOnly: Bool
  /// Why the space is read-only; nil if it is not.
  package var readOnlyReason: String?
  /// Why nothing more can be stored now; nil if there is room.
  package var shortage: String?
  /// nil: the mount does not follow a writer.
  package var following: Following?
  /// nil: the store responds.
  package var outage: Outage?
  /// nil: the store lies here, or the mount changes nothing.
  package var remote: Remote?
  /// Segments that compaction did not touch because content in them does not decrypt.
  package var unreadableSegments: Int
  /// The cipher of the space's records; nil if the daemon's version does not report it.
  package var cipher: String?
  /// How the kernel's requests come: `uring` or `device`; nil if the daemon's version does not report it.
  package var transport: String?
  /// Why they do not come over io_uring; nil if they do, or if the device was chosen.
  package var transportReason: String?
  /// The findings of recovery at the mount, one line each; empty after a clean unmount.
  package var recovery: [String]
  /// The daemon's last messages, oldest first.
  package var messages: [String]

  package init(
    store: String, mountPoint: String, pid: Int32, albums: Int, photos: Int, videos: Int? = nil,
    otherFiles: Int?, files: Int, bytes: Int64, thumbnails: Thumbnails, deleted: Deleted? = nil,
    lastBarrier: Double?, readOnly: Bool,
    readOnlyReason: String?, shortage: String?, following: Following? = nil,
    outage: Outage? = nil, remote: Remote? = nil, unreadableSegments: Int, cipher: String?,
    transport: String?, transportReason: String?, recovery: [String], messages: [String]
  ) {
    self.store = store
    self.mountPoint = mountPoint
    self.pid = pid
    self.albums = albums
    self.photos = photos
    self.videos = videos
    self.otherFiles = otherFiles
    self.files = files
    self.bytes = bytes
    self.thumbnails = thumbnails
    self.deleted = deleted
    self.lastBarrier = lastBarrier
    self.readOnly = readOnly
    self.readOnlyReason = readOnlyReason
    self.shortage = shortage
    self.following = following
    self.outage = outage
    self.remote = remote
    self.unreadableSegments = unreadableSegments
    self.cipher = cipher
    self.transport = transport
    self.transportReason = transportReason
    self.recovery = recovery
    self.messages = messages
  }
}

/// Why a command failed, as daemon and command line report it to one another. A program acts on the kind (the
/// command line maps it to an exit code). The message is for a person: one or two sentences, without secrets.
package struct Failure: Error, Codable, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: String, Codable, Sendable, CaseIterable {
    case usage
    case storeMissing, notEmpty, configuration, configurationOpen, configurationWrite
    case storeInUse, passwordInUse, unsupported, damaged
    case noPassword, emptyPassword, wrongPassword, securityKey
    case mountPoint, fuse, noSuchMount, busy, unreachable
    case timedOut, diskFull, clash, leftOutside, tracesStay, notCopied, remoteUnreachable,
      remoteRefused, notSent, interrupted, other

    /// A kind that only a newer program knows becomes `other`.
    package init(from decoder: any Decoder) throws {
      let name = try decoder.singleValueContainer().decode(String.self)
      self = Kind(rawValue: name) ?? .other
    }
  }
  /// A remedy for the failure. The command line says how to apply it, if its command can do that.
  package enum Remedy: String, Codable, Sendable {
    case repair, mountReadOnly, recoveryKey, mayRead, mayWrite, other

    /// A remedy that only a newer program knows becomes `other`.
    package init(from decoder: any Decoder) throws {
      let name = try decoder.singleValueContainer().decode(String.self)
      self = Remedy(rawValue: name) ?? .other
    }
  }
  package var kind: Kind
  package var message: String
  package var remedy: Remedy?

  package init(_ kind: Kind, _ message: String, remedy: Remedy? = nil) {
    self.kind = kind
    self.message = message
    self.remedy = remedy
  }

  package var description: String { message }
}
