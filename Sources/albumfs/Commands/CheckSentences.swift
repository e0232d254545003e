import AlbumCheck
import AlbumModel
import AlbumStore
import Daemon
import Posix

// The findings of a check and the changes of a repair, in words.

extension CheckFinding {
  /// `Trip/Photo/IMG_1.jpg: bytes 65536-131071 cannot be read (segment 3f9a… is damaged)`
  var sentence: String { path.map { "\($0): \(meaning)" } ?? meaning }

  /// The sentence without the path.
  var meaning: String {
    guard let since else { return fact }
    return
      "\(fact) (left out: what was written since \(SystemClock.localTime(seconds: since.seconds)))"
  }

  private var fact: String {
    switch detail {
    case .ofStore(let warning): warning.words
    case .strangers(let example, let others):
      example.words
        + (others == 0
          ? "" : ". \(others) more objects with the names of segments are not files either")
        + ". This space does not need them"
    case .shortFiles(let count):
      "files that have names of segments, are shorter than a segment and do not belong to this space: "
        + "\(count); each session that writes extends at most \(ShortFiles.segmentLimit) of them"
    case .framesMissing, .bothHeadsDamaged, .oneHeadDamaged, .journalSegmentMissing,
      .journalCutShort,
      .journalLacksEnd, .journalEndMissing, .checkpointDamaged, .journalGone, .catalogIncomplete,
      .lossUnrepaired:
      meaningOfJournal
    case .diskCannotRead, .segmentMissing, .segmentShort, .segmentLong, .unknownSegments,
      .otherTimeline,
      .divergedTimeline, .otherChanges, .ledger, .segmentInUse:
      meaningOfSegment
    case .leftOut, .leftOutVersions, .changesCut, .thumbnailRemade, .shownAsBefore, .newFileLeftOut,
      .unreadable, .placeLost, .newerContent, .nameLost, .targetLost:
      meaningOfFile
    case .orphan, .secondName, .linkCount, .outsideSegments, .beyondEnd, .albumPart, .thumbnailGone,
      .counter:
      meaningOfCatalog
    }
  }

  private var meaningOfJournal: String {
    switch detail {
    case .framesMissing(let count, let isSpare):
      "\(counted(count, "frame")) of the journal cannot be read (\(segment) is damaged)"
        + (isSpare ? ": a spare that is not needed now" : "")
    case .bothHeadsDamaged: "both heads of \(segment), a journal segment, are damaged"
    case .oneHeadDamaged: "one of the two heads of \(segment), a journal segment, is damaged"
    case .journalSegmentMissing: "\(segment), a journal segment, is not there"
    case .journalCutShort:
      "\(segment), the newest of the journal, is cut short or holds zeros: its last frames may be "
        + "missing"
    case .journalLacksEnd:
      "the newest part of the journal is not in the store: it was begun while the store was copied, or "
        + "it was lost"
    case .journalEndMissing:
      "the end of the journal is missing: segments exist that were begun after it"
    case .checkpointDamaged(let otherIsUsed):
      "a checkpoint is damaged" + (otherIsUsed ? ": the other one is used" : "")
    case .journalGone: "no journal segment is left: names are lost"
    case .catalogIncomplete: "the catalog is lost in part: names are missing"
    default:
      "a part of the journal was missing at an earlier mount, and no content that it recorded was found. "
        + "albumfs removes nothing from the store until --repair has cleared that"
    }
  }

  private var meaningOfSegment: String {
    switch detail {
    case .diskCannotRead: "the disk cannot read all of \(segment)"
    case .segmentMissing: "\(segment) is not there"
    case .segmentShort(let left, let size):
      "\(segment) is cut short: \(left) bytes are left of \(size)"
    case .segmentLong(let count, let size):
      "\(segment) has \(count) bytes instead of \(size): something outside albumfs extended it. Nothing of "
        + "the space is lost; cut it to its size (truncate -s \(size))"
    case .unknownSegments(let count):
      (count == 1 ? "1 segment of this space is" : "\(count) segments of this space are")
        + " in the store, but its journal does not name \(count == 1 ? "it" : "them"): another copy of the "
        + "store made \(count == 1 ? "it" : "them"), or a part of the journal is missing. albumfs leaves "
        + "\(count == 1 ? "it" : "them") alone"
    case .divergedTimeline:
      "the journal left out changes whose content is in the store: another copy of the store, which was "
        + "written to, made them, or they were made in the last seconds before a power cut. albumfs removes "
        + "nothing. To make this store a copy again, run rsync once with --delete --checksum. --repair "
        + "continues with what is shown, and brings the other files to Recovered"
    case .otherChanges: "its changes of the other copy, or before a power cut, are left out"
    case .ledger(let found, let stated):
      "\(found) bytes of \(segment) are in use, but \(stated) are recorded"
    case .segmentInUse: "\(segment) is marked for removal, but is in use"
    default:
      "two sessions wrote to the store: in another copy of it, or on another machine at the same time. "
        + "albumfs removes "
        + "nothing of either. To make this store a copy again, run rsync once with --delete. --repair "
        + "continues with what is shown, and brings the files that only the other one has to Recovered"
    }
  }

  private var meaningOfFile: String {
    switch detail {
    case .leftOut: "an earlier mount left out its newest version; --repair restores it"
    case .leftOutVersions(let count):
      (count == 1 ? "1 version of a file is" : "\(count) versions of files are")
        + " kept that a mount left out because content was missing; --repair restores what can be read"
    case .changesCut: "its changes of the last seconds before a crash are left out"
    case .thumbnailRemade: "its thumbnail is missing; albumfs makes it again"
    case .shownAsBefore: "an earlier version is shown, because content of the newest is missing"
    case .newFileLeftOut:
      "the new file is not whole: it is left out, or the file that it replaced is shown"
    case .unreadable(let isThumbnail, let missing):
      (isThumbnail ? "its thumbnail cannot be read" : "\(bytes) cannot be read")
        + " (\(causes(missing)))"
    case .placeLost:
      "\(bytes) cannot be read (the part of the journal that recorded their place is lost)"
    case .newerContent:
      "there is newer content of \(bytes), which only the lost part of the journal recorded"
    case .nameLost(let byteCount):
      "the name of this file is lost, but its content (\(byteCount) bytes) is not"
    default: "the file of this name is lost"
    }
  }

  private var meaningOfCatalog: String {
    switch detail {
    case .orphan: "no name leads to it"
    case .secondName: "this directory has another name, too"
    case .linkCount(let stated, let names): "its link count is \(stated), but it has \(names)"
    case .outsideSegments: "\(bytes) are recorded at a place outside of every segment"
    case .beyondEnd: "there is content after the end of the file"
    case .albumPart: "it is marked as a part of an album, but it is not one"
    case .counter(let counter):
      "the next \(counter == .inode ? "inode" : "segment") number is in use already"
    default: "its thumbnail is not there"
    }
  }

  // MARK: Parts of sentences

  /// `segment 3f9a0b1c…`
  private var segment: String { segments.first.map(CheckFinding.name(ofSegment:)) ?? "a segment" }

  private static func name(ofSegment path: String) -> String {
    "segment \((path.split(separator: "/").last ?? "").prefix(8))…"
  }

  private func causes(_ missing: Set<String>) -> String {
    segments.map {
      "\(CheckFinding.name(ofSegment: $0)) is \(missing.contains($0) ? "not there" : "damaged")"
    }.joined(separator: ", ")
  }

  /// `bytes 0-65535, 131072-196607`
  private var bytes: String {
    let shown = ranges.prefix(8).map { "\($0.lowerBound)-\($0.upperBound - 1)" }
    let rest = ranges.count - shown.count
    return "bytes \(shown.joined(separator: ", "))"
      + (rest > 0 ? " and \(rest) more stretches" : "")
  }
}

extension CheckRepair {
  var sentence: String {
    switch self {
    case .secondNameDropped(let path, let inode):
      "\(path): this second name of directory \(inode.rawValue) was dropped"
    case .unreadableZeroed(let path, let count, let new):
      "\(path): \(count) bytes that cannot be read are zeros now; the file is \(new)"
    case .thumbnailDropped(let inode):
      "thumbnail \(inode.rawValue) cannot be read and will be made again"
    case .newerContent(let path):
      "\(path): newer content of a file of that name, which only the lost part of the journal recorded"
    case .nameLost(let path): "\(path): a file whose name is lost"
    case .leftOut(let path): "\(path): a version that an earlier mount left out"
    case .orphan(let path): "\(path): no name led to it"
    case .otherTimeline(let path, let other):
      "\(path): \(other), as the other copy of the store or the other machine had it"
    case .namesDropped(let count): "\(counted(count, "name")) that led to nothing were dropped"
    case .catalogWritten:
      "the catalog was written again: nothing that is damaged is needed any more"
    }
  }
}
