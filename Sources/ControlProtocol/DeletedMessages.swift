// What commands and daemon say about deleted files.

/// Which deleted files a request is for: all that fit every given condition.
package struct DeletedSelection: Codable, Sendable, Equatable {
  /// Their numbers; nil: any.
  package var numbers: [UInt64]?
  /// Deleted at this time or later, in seconds since 1970; nil: at any time.
  package var since: Double?
  package init(numbers: [UInt64]? = nil, since: Double? = nil) {
    self.numbers = numbers
    self.since = since
  }

  package func includes(_ file: DeletedFileEntry) -> Bool {
    (numbers?.contains(file.number) ?? true) && file.deleted >= since ?? -.infinity
  }
}

/// One deleted file. Its JSON form is part of the output of `albumfs deleted list --json`.
package struct DeletedFileEntry: Codable, Sendable, Equatable {
  /// Identifies the file for `restore` and `purge`, also in later mounts.
  package var number: UInt64
  /// From the root of the space.
  package var path: String
  /// In bytes.
  package var size: Int64
  /// When it was deleted, in seconds since 1970.
  package var deleted: Double
  /// How long it stays, in seconds of use.
  package var secondsLeft: Int64
  /// What happened to it: `removed`, `replaced` (another file got its name) or `overwritten` (this is the
  /// content that the file had before).
  package var cause: String

  package init(
    number: UInt64, path: String, size: Int64, deleted: Double, secondsLeft: Int64, cause: String
  ) {
    self.number = number
    self.path = path
    self.size = size
    self.deleted = deleted
    self.secondsLeft = secondsLeft
    self.cause = cause
  }
}

/// Some deleted files.
package struct DeletedFilePage: Codable, Sendable, Equatable {
  package var files: [DeletedFileEntry]
  /// Where the next page begins; nil for the last one.
  package var next: UInt32?
  package init(files: [DeletedFileEntry], next: UInt32?) {
    self.files = files
    self.next = next
  }
}

/// How long a space keeps deleted files.
package struct DeletedFileSettings: Codable, Sendable, Equatable {
  package var keeps: Bool
  package var keptDays: Int64
  /// How long they stay even on a full disk.
  package var guaranteedDays: Int64
  package init(keeps: Bool, keptDays: Int64, guaranteedDays: Int64) {
    self.keeps = keeps
    self.keptDays = keptDays
    self.guaranteedDays = guaranteedDays
  }

  /// True if some file stays for less time with these settings than with others.
  package func keepsLess(than other: DeletedFileSettings) -> Bool {
    other.keeps && !keeps || keptDays < other.keptDays || guaranteedDays < other.guaranteedDays
  }
}
