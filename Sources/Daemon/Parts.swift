import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumStore
import ControlProtocol
import FUSEDriver
import Glibc
import Logging
import Posix
import Thumbnails

/// The parts of one mounted space: put together bottom first, taken apart top first.
final class Parts: Sendable {
  let options: LaunchOptions
  let space: Space
  let fileSystem: FileSystem
  /// nil: no thumbnails are made.
  let queue: ThumbnailQueue?
  /// Why none are made from the start; nil where they are.
  let whyNoThumbnails: String?
  private let storeWarnings: [String]
  /// How far history went here; nil: nobody wants to know.
  private let history: HistoryWatch?
  private let mountOptions: MountOptions
  private let logger: Logger

  /// Opens the space and starts what works on it, but does not mount it.
  init(_ options: LaunchOptions, secret: consuming SecretBytes, logger: Logger) throws(Failure) {
    self.options = options
    self.logger = logger
    do throws(MountError) { mountOptions = try options.parsedMountOptions() } catch {
      throw Failure(error)
    }
    let store = try StoreOpening.open(options.store)
    let isReadOnly = mountOptions.readOnly
    if !isReadOnly { store.warnWhereChaffIsForbidden() }
    space = try Parts.openSpace(store, options, secret, isReadOnly, logger)
    let opened = space
    let seen = options.remembersIn.map { SeenHistory(directory: $0, of: opened) }
    history = seen.map { HistoryWatch($0, of: opened, logger: logger) }
    storeWarnings =
      store.warnings + store.advice
      + (seen?.complaint(about: opened).map { [$0] } ?? [])
    fileSystem = FileSystem(space: space)
    do throws(Errno) { try history?.start() } catch {
      logger.warning("the end of history is noted at the unmount alone: \(error)")
    }
    (queue, whyNoThumbnails) = Parts.startThumbnails(
      fileSystem, space, isReadOnly ? nil : options.thumbnailer, logger)
  }

  var isReadOnly: Bool { mountOptions.readOnly }

  /// For the person who mounts, one sentence each.
  var warnings: [String] {
    storeWarnings + space.misplaced.map { $0.prefix(1).uppercased() + $0.dropFirst() + "." }
      + RecoveryNotes.lines(space.status.recovery)
      + (isReadOnly ? [] : whyNoThumbnails.map { ["No thumbnails will be made: \($0)."] } ?? [])
  }

  /// A mount that is not yet there; its `run` makes it.
  func mount(onReady: @escaping @Sendable () -> Void) throws(MountError) -> FUSEDriver.Mount {
    try FUSEDriver.Mount(
      fileSystem: fileSystem, options: mountOptions, mountPoint: options.mountPoint,
      readsSystemCalls: options.inspectsSystemCalls, logger: logger, onReady: onReady)
  }

  /// Writes everything out. Nobody uses the mount any more.
  func close() throws(Failure) {
    queue?.stop()
    let unwritten = fileSystem.close()
    do throws(StoreError) { try space.close() } catch {
      history?.stop()
      throw lost("\(error)", Failure(error))
    }
    history?.end()
    if let unwritten, !isReadOnly {
      throw lost("\(unwritten)", Failure(.other, "Not everything could be written: \(unwritten)."))
    }
  }

  private func lost(_ reason: String, _ failure: Failure) -> Failure {
    logger.critical("not everything could be written: \(reason)")
    return failure
  }

  private static func openSpace(
    _ store: Store, _ options: LaunchOptions, _ secret: consuming SecretBytes, _ readOnly: Bool,
    _ logger: Logger
  ) throws(Failure) -> Space {
    do throws(StoreError) {
      let keys =
        switch options.secretKind {
        case .password: try store.unlock(password: secret)
        case .recoveryKey: try store.unlock(recoveryKey: secret)
        }
      var opening = SpaceOpenOptions(logger: logger)
      opening.readOnly = readOnly
      opening.graceSeconds = options.graceSeconds
      opening.addsChaff = !ChaffRule.isForbiddenByTests
      return try Space.open(store, keys: keys, options: opening)
    } catch {
      if options.secretKind == .recoveryKey, error.code == .missing || error.code == .notAStore {
        throw Failure(
          .wrongPassword,
          "The recovery key is of no space of this store (or the copy of the store is incomplete).")
      }
      throw Failure(error)
    }
  }

  private static func startThumbnails(
    _ fileSystem: FileSystem, _ space: Space, _ program: String?, _ logger: Logger
  ) -> (ThumbnailQueue?, String?) {
    guard let program else { return (nil, "no albumfs-thumbnailer was found") }
    let edge = space.read { $0.properties[.thumbnailEdge] } ?? 512
    let source = ThumbnailSource(
      fileSystem: fileSystem, thumbnailEdge: Int(edge), logger: logger)
    do throws(Errno) {
      var launch = WorkerLaunch(program: program)
      launch.isEager = unsafe getenv("ALBUMFS_EAGER_THUMBNAILS") != nil
      let queue = try ThumbnailQueue(source: source, launch: launch, logger: logger)
      fileSystem.whenPhotosWait { queue.wake() }
      return (queue, nil)
    } catch {
      return (nil, "their threads cannot be started (\(error))")
    }
  }
}

/// What recovery found, for a person.
enum RecoveryNotes {
  private static let mostNamed = 20

  /// The files that lack their newest content, and what to do.
  private static func incompleteFiles(_ report: RecoveryReport) -> [String] {
    let files = report.incompleteFiles
    if files.isEmpty {
      if report.leftOutFiles == 0 { return [] }
      let paths = report.leftOutPaths.keys.sorted()
      let named =
        paths.prefix(mostNamed).map { "\($0): left out by an earlier mount." }
        + (paths.count > mostNamed ? ["… and \(paths.count - mostNamed) more files."] : [])
      return named + [
        "\(report.leftOutFiles) versions of files are kept that a mount left out, since content of them "
          + "was missing. albumfs check --repair brings back what can be read of them."
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
        + "Nothing that is left of it is removed. "
        + "\(isCopy ? "Run rsync again to complete the copy, or run" : "Restore the store from a backup, or run") "
        + "albumfs check --repair to bring back what can be read.", at: 0)
    return lines
  }

  private static func time(_ since: StoreTime) -> String {
    "written \(SystemClock.localTime(seconds: since.seconds))"
  }

  static func lines(_ report: RecoveryReport) -> [String] {
    var lines: [String] = []
    if report.isMixed {
      lines.append(
        "The store holds segments of another copy of it, which was written to. Nothing of either was "
          + "removed. To make this store a copy again, run rsync once with --delete. To go on with what is "
          + "shown, run albumfs check --repair.")
    }
    lines += incompleteFiles(report)
    if !report.cutFiles.isEmpty {
      let shown = report.cutFiles.prefix(mostNamed).joined(separator: ", ")
      let rest = report.cutFiles.count - mostNamed
      lines.append(
        "The machine was started anew since. Changes of the last seconds before that are left out: "
          + shown + (rest > 0 ? " and \(rest) more." : "."))
    }
    if !report.wasClean, report.incompleteFiles.isEmpty, report.cutFiles.isEmpty,
      report.damagedFrames == 0, !report.lacksEnd, !report.isDamaged
    {
      lines.append(
        "The last session did not end by an unmount. Everything up to its last moments is there.")
    }
    if report.damagedFrames > 0 {
      let steps = "\(report.damagedFrames) steps of its history"
      lines.append(
        report.mayLackJournalAsCopy
          ? "\(steps) were written while this store was copied, and are not in it: run rsync again."
          : "The store is damaged: \(steps) are missing.")
    }
    if report.lacksEnd {
      lines.append(
        "The newest part of the history is not in this store: it was begun while the store was copied, or it "
          + "was lost. Run rsync again, or restore the store from a backup.")
    }
    if report.isEndMissing {
      lines.append("The store is damaged: the end of its history is missing.")
    }
    if report.loss != nil, !report.isJournalIncomplete {
      lines.append("A part of this space's history was missing at an earlier mount.")
    }
    if report.isJournalIncomplete || report.loss != nil {
      lines.append(
        "albumfs check --repair may bring back what is missing; until then no room is given back.")
    }
    if report.lostEntries > 0 {
      lines.append("The store is damaged: \(report.lostEntries) files are lost.")
    }
    if report.lostContents > 0 {
      lines.append(
        "The store is damaged: \(report.lostContents) files have lost content; "
          + "reading it is an error, all else can be read.")
    }
    if report.orphans > 0 {
      lines.append(
        "The store is damaged: \(report.orphans) files and folders have lost their name; "
          + "albumfs check --repair brings them back.")
    }
    if report.isCutShort {
      lines.append("The store is damaged: the newest part of its journal was cut short.")
    }
    if report.usedFormerCheckpoint {
      lines.append("The newest checkpoint is damaged; the one before it was used.")
    }
    return lines
  }
}

extension IncompleteFile.Outcome {
  /// What became of the file, for a person.
  fileprivate var sentence: String {
    switch self {
    case .formerContent: "shown as it was before"
    case .leftOut: "left out, since nothing of it is whole"
    case .unreadable: "cannot be read whole"
    }
  }
}
