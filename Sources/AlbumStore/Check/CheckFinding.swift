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
  /// What it means, for a person; without the path.
  package var meaning: String

  package init(
    _ severity: Severity, _ kind: Kind, path: String? = nil, inode: UInt64? = nil,
    ranges: [Range<Int64>] = [], segments: [String] = [], _ meaning: String
  ) {
    self.severity = severity
    self.kind = kind
    self.path = path
    self.inode = inode
    self.ranges = ranges
    self.segments = segments
    self.meaning = meaning
  }
}

extension CheckFinding: CustomStringConvertible {
  /// `Trip/Photo/IMG_1.jpg: bytes 65536-131071 cannot be read (segment 3f9a… is damaged)`
  package var description: String { path.map { "\($0): \(meaning)" } ?? meaning }
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
  /// What `--repair` did, one sentence each.
  package internal(set) var repairs: [String] = []
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

/// How far a check is.
package struct CheckProgress: Sendable, Equatable {
  package enum Step: Sendable, Equatable { case catalog, records, repair }
  package var step: Step
  /// Bytes of segments, of `totalBytes`.
  package var doneBytes: Int64
  package var totalBytes: Int64

  package init(step: Step, doneBytes: Int64 = 0, totalBytes: Int64 = 0) {
    self.step = step
    self.doneBytes = doneBytes
    self.totalBytes = totalBytes
  }
}
