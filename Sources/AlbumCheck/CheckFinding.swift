package import AlbumModel
package import AlbumStore

/// One thing that a check found wrong, or worth knowing.
package struct CheckFinding: Sendable, Equatable {
  package enum Severity: String, Sendable, CaseIterable {
    /// User data is lost or in doubt, or a spare that protects it is lost.
    case damage
    /// Information: nothing is lost.
    case note
  }

  /// The kind of a finding. The raw values are part of the command line's JSON and never change.
  package enum Kind: String, Sendable, CaseIterable {
    /// The `ranges` of a file cannot be read.
    case unreadableContent = "unreadable-content"
    /// The same for a thumbnail. albumfs can make it again.
    case unreadableThumbnail = "unreadable-thumbnail"
    /// The store holds newer content of a file than the catalog knows, because a part of the journal is lost.
    case lostChanges = "lost-changes"
    /// The store holds content of a file that the catalog does not know. Its name is lost.
    case lostFile = "lost-file"
    /// A file shows an earlier version, because content of the newest is missing.
    case formerContent = "former-content"
    /// The space keeps versions of files that a mount left out, until a repair.
    case leftOut = "left-out"
    /// The store holds segments of another copy of it, which was written to.
    case timeline = "timeline"
    /// A name leads to a file that is lost entirely.
    case lostEntry = "lost-entry"
    /// A file or a directory that no name leads to.
    case orphan = "orphan"
    /// A directory with two names, or whose parent does not name it.
    case names = "names"
    /// A link count that differs from the number of names.
    case linkCount = "link-count"
    /// Extents that point outside of any segment, or beyond the end of their file.
    case extents = "extents"
    /// A count of live bytes of a segment that differs from what extents refer to.
    case ledger = "ledger"
    /// A directory that is marked as an album's Photo or Thumb and is none.
    case album = "album"
    /// A photo that refers to a missing thumbnail.
    case thumbnail = "thumbnail"
    /// A counter that could assign a number twice.
    case counters = "counters"
    /// Parts of the journal are damaged.
    case journal = "journal"
    /// Parts of a checkpoint are damaged.
    case checkpoint = "checkpoint"
    /// The catalog is lost, in part or entirely: names and attributes are, content is not.
    case catalog = "catalog"
    /// A segment is missing.
    case segmentMissing = "segment-missing"
    /// A segment is too short.
    case segmentShort = "segment-short"
    /// albumfs.conf, its twin or `keys`.
    case store = "store"
  }

  package var severity: Severity
  package var kind: Kind
  /// The path of the affected file, directory or album from the space's root, as the user sees it; nil if no
  /// single one is affected.
  package var path: String?
  /// The number of the affected inode.
  package var inode: UInt64?
  /// Ranges of bytes of the file, sorted and separate.
  package var ranges: [Range<Int64>]
  /// The paths of the segments involved, relative to the store.
  package var segments: [String]
  /// When the oldest content was written that is left out; nil if nothing is, or if that is unknown.
  package var since: StoreTime?
  package var detail: Detail

  package init(
    _ severity: Severity, _ kind: Kind, path: String? = nil, inode: UInt64? = nil,
    ranges: [Range<Int64>] = [], segments: [String] = [], since: StoreTime = .none,
    _ detail: Detail
  ) {
    self.severity = severity
    self.kind = kind
    self.path = path
    self.inode = inode
    self.ranges = ranges
    self.segments = segments
    self.since = since == .none ? nil : since
    self.detail = detail
  }
}

extension CheckFinding {
  /// States a finding exactly. The command line makes a sentence of it with `path`, `ranges` and `segments`.
  package enum Detail: Sendable, Equatable {
    /// A warning about the store.
    case ofStore(StoreWarning)
    /// Objects that are not files have the names of segments that are not this space's: one example, and the
    /// number of the others.
    case strangers(example: StoreWarning, others: Int)
    /// The number of files with the names of segments that are too short and not this space's.
    case shortFiles(Int)

    /// The number of frames of a segment that cannot be read. `isSpare` if no mount needs them now.
    case framesMissing(Int, isSpare: Bool)
    /// The two heads of a journal segment.
    case bothHeadsDamaged, oneHeadDamaged
    case journalSegmentMissing
    /// The newest journal segment is shorter than it was, or holds zeros.
    case journalCutShort
    /// The newest part of the journal was begun while the store was copied, or it was lost.
    case journalLacksEnd
    /// Segments exist that were begun after the end of the journal.
    case journalEndMissing
    case checkpointDamaged(otherIsUsed: Bool)
    case journalGone
    case catalogIncomplete

    case diskCannotRead
    case segmentMissing
    case segmentShort(left: Int, of: Int)
    /// A segment has this many bytes, more than albumfs gives any.
    case segmentLong(Int64, of: Int)
    /// The number of segments that the journal does not name.
    case unknownSegments(Int)
    /// Segments of another copy of the store, which was written to.
    case otherTimeline
    /// A session left out frames that are here: of another copy, or from before a power cut.
    case divergedTimeline
    /// Changes of this file that the other copy, or a session before a power cut, made.
    case otherChanges
    /// A part of the journal was missing at an earlier mount, and no content of it was found.
    case lossUnrepaired
    /// An earlier mount left out the newest version of this file.
    case leftOut
    /// The number of kept versions that mounts left out.
    case leftOutVersions(Int)

    /// Changes of the last seconds before a crash are left out.
    case changesCut
    /// The thumbnail is missing. albumfs makes it again.
    case thumbnailRemade
    /// The file shows an earlier version.
    case shownAsBefore
    /// A new file is not whole. It is left out, or the file that it replaced is shown.
    case newFileLeftOut
    /// Content of a file or a thumbnail cannot be read. `missing` are those of `segments` that do not exist.
    case unreadable(isThumbnail: Bool, missing: Set<String>)
    /// The part of the journal that recorded the place of content is lost.
    case placeLost
    /// Newer content exists, which only the lost part of the journal referred to.
    case newerContent
    /// The size of a file whose name is lost.
    case nameLost(byteCount: Int64)
    /// A name leads to a file that is lost.
    case targetLost

    case orphan
    case secondName
    case linkCount(stated: UInt32, names: UInt32)
    case outsideSegments
    case beyondEnd
    /// The bytes of a segment that extents refer to, and the recorded count.
    case ledger(found: Int64, stated: Int64)
    case segmentInUse
    case albumPart
    case thumbnailGone
    case counter(CatalogProblem.Counter)
  }
}

/// One change of a repair.
package enum CheckRepair: Sendable, Equatable {
  /// The directory keeps its other name.
  case secondNameDropped(path: String, inode: InodeNumber)
  case unreadableZeroed(path: String, byteCount: Int64, movedTo: String)
  case thumbnailDropped(InodeNumber)
  /// Content that only the lost part of the journal referred to became this file.
  case newerContent(path: String)
  case nameLost(path: String)
  /// A version that a mount had left out came back.
  case leftOut(path: String)
  case orphan(path: String)
  /// A file of another timeline, which has it at the path `of`, came in.
  case otherTimeline(path: String, of: String)
  /// The number of names that led to nothing.
  case namesDropped(Int)
  /// The catalog was written anew, so that nothing damaged is needed any more.
  case catalogWritten
}

/// The extent and the findings of a check.
package struct CheckReport: Sendable {
  package struct Totals: Sendable, Equatable {
    package var files = 0
    package var directories = 0
    /// The data records that were decrypted, and the bytes of content in them.
    package var records = 0
    package var bytes: Int64 = 0
    /// The segments of all kinds that were read.
    package var segments = 0
    package init() {}
  }

  package internal(set) var findings: [CheckFinding] = []
  package internal(set) var totals = Totals()
  package internal(set) var recovery = RecoveryReport()
  /// The changes of the repair.
  package internal(set) var repairs: [CheckRepair] = []
  /// False if the check was stopped. The findings then cover only what was examined until then.
  package internal(set) var isComplete = true

  package init() {}

  /// True if a repair can change something. A copy that lacks the end of the journal is not damaged, but a
  /// repair can restore content.
  package var wantsRepair: Bool {
    let held: [CheckFinding.Kind] = [.formerContent, .leftOut, .orphan, .lostEntry]
    return recovery.keepsLooseContent
      || findings.contains {
        $0.severity == .damage && $0.kind != .store || held.contains($0.kind)
      }
  }

  package var isDamaged: Bool { findings.contains { $0.severity == .damage } }
}
