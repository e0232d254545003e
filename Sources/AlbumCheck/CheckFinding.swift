package import AlbumModel
package import AlbumStore

/// One thing that a check found wrong, or worth knowing.
package struct CheckFinding: Sendable, Equatable {
  package enum Severity: String, Sendable, CaseIterable {
    /// Something of the user's is gone or cannot be trusted, or a spare that guards it is gone.
    case damage
    /// Worth knowing; nothing is lost.
    case note
  }

  /// What it is. Raw values are part of the command line's JSON: never changed.
  package enum Kind: String, Sendable, CaseIterable {
    /// Stretches of a file cannot be read: `ranges` says which.
    case unreadableContent = "unreadable-content"
    /// The same of a thumbnail that albumfs made; it can be made again.
    case unreadableThumbnail = "unreadable-thumbnail"
    /// A file has newer content in the store than the catalog knows: the journal that told is lost.
    case lostChanges = "lost-changes"
    /// The store holds content of a file that the catalog does not know: its name is lost.
    case lostFile = "lost-file"
    /// A file is not shown as it was last, since content of it is not in the store.
    case formerContent = "former-content"
    /// Versions of files, or segments, that a mount left out are kept until a repair.
    case leftOut = "left-out"
    /// Segments of another copy of the store, which was written to, are in it.
    case timeline = "timeline"
    /// A name leads to a file of which nothing is left.
    case lostEntry = "lost-entry"
    /// A file or a directory that no name leads to.
    case orphan = "orphan"
    /// A directory with two names, or whose parent does not name it.
    case names = "names"
    /// A link count that is not the number of names.
    case linkCount = "link-count"
    /// Extents that point outside of any segment, or beyond the end of their file.
    case extents = "extents"
    /// Live bytes of a segment that are not what the extents say.
    case ledger = "ledger"
    /// An album's Photo or Thumb that is none.
    case album = "album"
    /// A photo that refers to a thumbnail that is not there.
    case thumbnail = "thumbnail"
    /// A number that is in use but not taken: it could be given out twice.
    case counters = "counters"
    /// Parts of the journal are damaged.
    case journal = "journal"
    /// Parts of a checkpoint are damaged.
    case checkpoint = "checkpoint"
    /// The catalog is lost, in part or whole: names and attributes are, contents are not.
    case catalog = "catalog"
    /// A segment is not there.
    case segmentMissing = "segment-missing"
    /// A segment is shorter than it should be.
    case segmentShort = "segment-short"
    /// albumfs.conf, its twin or `keys`.
    case store = "store"
  }

  package var severity: Severity
  package var kind: Kind
  /// The file, directory or album that is affected, from the space's root, as the user sees it. Nil
  /// where no single one is.
  package var path: String?
  /// The inode's number, where one is affected.
  package var inode: UInt64?
  /// Stretches of the file in bytes, in order, apart from one another.
  package var ranges: [Range<Int64>]
  /// Segments that have to do with it, relative to the store.
  package var segments: [String]
  package var detail: Detail

  package init(
    _ severity: Severity, _ kind: Kind, path: String? = nil, inode: UInt64? = nil,
    ranges: [Range<Int64>] = [], segments: [String] = [], _ detail: Detail
  ) {
    self.severity = severity
    self.kind = kind
    self.path = path
    self.inode = inode
    self.ranges = ranges
    self.segments = segments
    self.detail = detail
  }
}

extension CheckFinding {
  /// States a finding exactly. The command line makes a sentence of it with `path`, `ranges` and `segments`.
  package enum Detail: Sendable, Equatable {
    /// An error that opening the store returned.
    case ofStore(String)
    /// Files with the names of segments are none: what one of them is, and how many more there are.
    case strangers(example: String, others: Int)
    /// So many files with the names of segments are shorter than one, and not this space's.
    case shortFiles(Int)

    /// So many frames of a segment cannot be read; a spare needs none of them now.
    case framesMissing(Int, isSpare: Bool)
    /// Of a journal segment's two heads.
    case bothHeadsDamaged, oneHeadDamaged
    case journalSegmentMissing
    /// The newest journal segment is shorter than it was, or holds zeros.
    case journalCutShort
    /// The newest part was begun while the store was copied, or it was lost.
    case journalLacksEnd
    /// Segments are there that were begun behind the end of the journal.
    case journalEndMissing
    case checkpointDamaged(otherIsUsed: Bool)
    case journalGone
    case catalogIncomplete

    case diskCannotRead
    case segmentMissing
    case segmentShort(left: Int, of: Int)
    /// So many segments of which the journal does not tell.
    case unknownSegments(Int)
    /// Segments of another copy of the store, which was written to.
    case otherTimeline
    /// A part of the journal was missing at an earlier mount, and nothing of it was found.
    case lossUnsettled
    /// An earlier mount left out what was written to this file last.
    case leftOut
    /// So many versions of files are kept that mounts left out.
    case leftOutVersions(Int)

    /// Changes of the last seconds before a crash are left out.
    case changesCut
    /// The thumbnail is not in the store, and is made again.
    case thumbnailRemade
    /// The file is shown as it was before.
    case shownAsBefore
    /// A new file is not whole: it is left out, or what it replaced is shown.
    case newFileLeftOut
    /// Content, of a thumbnail or a file, does not open. `missing`: which of `segments` are not there.
    case unreadable(isThumbnail: Bool, missing: Set<String>)
    /// The journal that said where content lies is lost.
    case placeLost
    /// There is newer content, of which only the lost journal told.
    case newerContent
    /// So many bytes of content of a file whose name is lost.
    case nameLost(byteCount: Int64)
    /// A name leads to a file that is lost.
    case targetLost

    case orphan
    case secondName
    case linkCount(stated: UInt32, names: UInt32)
    case outsideSegments
    case beyondEnd
    /// Bytes of a segment in use, and those counted.
    case ledger(found: Int64, stated: Int64)
    case segmentInUse
    case albumPart
    case thumbnailGone
    case counter(CatalogProblem.Counter)
  }
}

/// One thing that a repair did. Paths are those before and after.
package enum CheckRepair: Sendable, Equatable {
  /// The directory keeps its other name.
  case secondNameDropped(path: String, inode: InodeNumber)
  case unreadableZeroed(path: String, byteCount: Int64, movedTo: String)
  case thumbnailDropped(InodeNumber)
  /// Content of a file of that name that the lost part of the journal told of.
  case newerContent(path: String)
  case nameLost(path: String)
  /// A version that a mount had left out came back.
  case leftOut(path: String)
  case orphan(path: String)
  /// So many names that led to nothing.
  case namesDropped(Int)
  /// The catalog was written anew, and nothing that is damaged is needed any more.
  case catalogWritten
}

/// What a check looked at and what it found.
package struct CheckReport: Sendable {
  package struct Totals: Sendable, Equatable {
    package var files = 0
    package var directories = 0
    /// Data records that were opened, and bytes of content in them.
    package var records = 0
    package var bytes: Int64 = 0
    /// Segments that were read, of all kinds.
    package var segments = 0
    package init() {}
  }

  package internal(set) var findings: [CheckFinding] = []
  package internal(set) var totals = Totals()
  package internal(set) var recovery = RecoveryReport()
  /// What the repair did.
  package internal(set) var repairs: [CheckRepair] = []
  /// False where it was stopped: then only what was looked at until then is told.
  package internal(set) var isComplete = true

  package init() {}

  /// True where a repair can do something. A copy that lacks the end of the journal is not damaged, but a
  /// repair can bring content back.
  package var wantsRepair: Bool {
    let held: [CheckFinding.Kind] = [.formerContent, .leftOut, .orphan, .lostEntry]
    return recovery.keepsLooseContent
      || findings.contains {
        $0.severity == .damage && $0.kind != .store || held.contains($0.kind)
      }
  }

  package var isDamaged: Bool { findings.contains { $0.severity == .damage } }

  /// Paths that damage affects, sorted, each once.
  package var damagedPaths: [String] {
    Set(findings.filter { $0.severity == .damage }.compactMap(\.path)).sorted()
  }
}
