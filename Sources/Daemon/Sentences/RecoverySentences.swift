import AlbumModel
import AlbumStore
import Posix

// The report of recovery, in words.

extension RecoveryReport {
  private static let mostNamed = 20

  /// Names the files that lack their newest content, and says what to do.
  private var incompleteSentences: [String] {
    let mostNamed = RecoveryReport.mostNamed
    let files = incompleteFiles
    if files.isEmpty {
      if leftOutFiles == 0 { return [] }
      let paths = leftOutPaths.keys.sorted()
      let named =
        paths.prefix(mostNamed).map { path in
          let since = leftOutPaths[path]?.since ?? .none
          return "\(path): left out by an earlier mount"
            + (since == .none ? "." : " (\(time(since))).")
        }
        + (paths.count > mostNamed ? ["… and \(paths.count - mostNamed) more files."] : [])
      return named + [
        "albumfs keeps \(leftOutFiles) versions of files that a mount left out, because content of "
          + "them was missing. albumfs check --repair restores what can be read of them."
      ]
    }
    var lines = files.prefix(mostNamed).map { file in
      "\(file.path ?? "A file without a name"): \(file.outcome.sentence) (\(time(file.since)))."
    }
    if files.count > mostNamed { lines.append("… and \(files.count - mostNamed) more files.") }
    let isCopy = files.allSatisfy(\.isEndOfCopy)
    let cause =
      isCopy
      ? "was written while this store was copied, and is not in it"
      : "is missing in this store"
    lines.insert(
      "The newest content of \(files.count) \(files.count == 1 ? "file" : "files") \(cause). "
        + "albumfs removes nothing that is left of it. "
        + "\(isCopy ? "Run rsync again to complete the copy, or run" : "Restore the store from a backup, or run") "
        + "albumfs check --repair to restore what can be read.", at: 0)
    return lines
  }

  private func time(_ since: StoreTime) -> String {
    "written \(SystemClock.localTime(seconds: since.seconds))"
  }

  /// One sentence or two for each thing that was found. A reader does not know whether a session has ended
  /// badly or goes on.
  func sentences(ofReader: Bool) -> [String] {
    let cut = ofReader && cutFiles.isEmpty ? [] : cutSentences
    return mixtureSentences + incompleteSentences + cut + historySentences + damageSentences
  }

  /// Describes a mixture: the segments of another copy, and the changes that the space does not show.
  private var mixtureSentences: [String] {
    var lines: [String] = []
    if isMixed {
      lines.append(
        "Two sessions wrote to the store: in another copy of it, or on another machine at the same time. albumfs "
          + "has removed nothing of either. To make this store a copy again, run rsync once with --delete. To "
          + "continue with what is shown, run albumfs check --repair: it brings the files that only the other one "
          + "has to Recovered.")
    }
    if !isMixed, mayBeMixed {
      lines.append(
        "The store also holds changes that are left out: of another copy of it, which was written to, or of the "
          + "last seconds before a power cut. albumfs has removed nothing. To make this store a copy again, run "
          + "rsync once with --delete --checksum. To continue with what is shown, run albumfs check --repair."
      )
    }
    if !otherFiles.isEmpty {
      lines.append("Changes left out, \(time(otherSince)) or later: \(named(otherFiles))")
    }
    return lines
  }

  /// How the last session ended.
  private var cutSentences: [String] {
    var lines: [String] = []
    if !cutFiles.isEmpty {
      lines.append(
        "The machine was restarted without an unmount. Changes of the last seconds before that, \(time(cutSince)) "
          + "or later, are left out: \(named(cutFiles))")
    }
    if !wasClean, incompleteFiles.isEmpty, cutFiles.isEmpty,
      damagedFrames == 0, end != .noSuccessor, !isDamaged
    {
      lines.append(
        "The last session did not end with an unmount. Everything up to its last moments is there.")
    }
    return lines
  }

  private func named(_ paths: [String]) -> String {
    let rest = paths.count - RecoveryReport.mostNamed
    return paths.prefix(RecoveryReport.mostNamed).joined(separator: ", ")
      + (rest > 0 ? " and \(rest) more." : ".")
  }

  /// The parts of the journal that are missing.
  private var historySentences: [String] {
    var lines: [String] = []
    if damagedFrames > 0 {
      let steps = "\(damagedFrames) steps of its history"
      lines.append(
        mayLackJournalAsCopy
          ? "\(steps) were written while this store was copied, and are not in it: run rsync again."
          : "The store is damaged: \(steps) are missing.")
    }
    switch end {
    case .complete: break
    case .noSuccessor:
      lines.append(
        "The newest part of the history is not in this store: it was begun while the store was copied, or it "
          + "is lost. Run rsync again, or restore the store from a backup.")
    case .contentMayHaveMoved:
      lines.append(
        "A segment with content is missing, and the last session did not end with an unmount, so the content may "
          + "lie elsewhere in the store.")
    case .missing:
      lines.append("The store is damaged: the end of its history is missing.")
    }
    if loss != nil, !isJournalIncomplete {
      lines.append("A part of this space's history was missing at an earlier mount.")
    }
    if isJournalIncomplete || loss != nil {
      lines.append(
        "albumfs check --repair may restore what is missing; until then albumfs frees no room.")
    }
    return lines
  }

  /// Describes damage, and what the mount repaired or worked around.
  private var damageSentences: [String] {
    var lines: [String] = []
    if lostEntries > 0 {
      lines.append("The store is damaged: \(lostEntries) files are lost.")
    }
    if lostContents > 0 {
      lines.append(
        "The store is damaged: \(lostContents) files have lost content; "
          + "reading that content fails, and everything else can be read.")
    }
    if orphans > 0 {
      lines.append(
        "The store is damaged: \(orphans) files and folders have lost their name; "
          + "albumfs check --repair restores them.")
    }
    if isCutShort {
      lines.append("The store is damaged: the newest part of its journal was cut short.")
    }
    if checkpoint != .newest {
      lines.append("The newest checkpoint is damaged; albumfs used the one before it.")
    }
    return lines
  }
}

extension IncompleteFile.Outcome {
  /// The state in which a mount shows the file, for a person.
  fileprivate var sentence: String {
    switch self {
    case .formerContent: "shown in an earlier version"
    case .leftOut: "left out, because no version of it is whole"
    case .withoutName: "has lost its name; albumfs check --repair restores it"
    case .unreadable: "cannot be read completely"
    }
  }
}

extension SeenHistory.Shortfall {
  var sentence: String {
    "This store is older than what was seen of it here: its history lacks the last \(frames) steps, "
      + "up to \(SystemClock.localTime(seconds: until)). It may be an old copy, or somebody may "
      + "have replaced it with an old state."
  }
}
