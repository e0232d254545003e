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
  private let mountOptions: MountOptions
  private let notifications = Notifications()
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
    space = try Parts.openSpace(store, options, secret, isReadOnly, logger)
    storeWarnings = store.warnings
    fileSystem = FileSystem(
      space: space, inspector: CallingSyscall(readsSystemCalls: options.inspectsSystemCalls),
      notifier: notifications)
    (queue, whyNoThumbnails) = Parts.startThumbnails(
      fileSystem, space, isReadOnly ? nil : options.thumbnailer, logger)
  }

  var isReadOnly: Bool { mountOptions.readOnly }

  /// For the person who mounts, one sentence each.
  var warnings: [String] {
    storeWarnings + RecoveryNotes.lines(space.status.recovery)
      + (isReadOnly ? [] : whyNoThumbnails.map { ["No thumbnails will be made: \($0)."] } ?? [])
  }

  /// A mount that is not yet there; its `run` makes it.
  func mount(onReady: @escaping @Sendable () -> Void) throws(MountError) -> FUSEDriver.Mount {
    try FUSEDriver.Mount(
      fileSystem: fileSystem, notifications: notifications, options: mountOptions,
      mountPoint: options.mountPoint, logger: logger, onReady: onReady)
  }

  /// Writes everything out. Nobody uses the mount any more.
  func close() throws(Failure) {
    queue?.stop()
    let unwritten = fileSystem.close()
    do throws(StoreError) { try space.close() } catch { throw lost("\(error)", Failure(error)) }
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
      let queue = try ThumbnailQueue(source: source, program: program, logger: logger)
      fileSystem.whenPhotosWait { queue.wake() }
      return (queue, nil)
    } catch {
      return (nil, "their threads cannot be started (\(error))")
    }
  }
}

/// What recovery found, for a person.
enum RecoveryNotes {
  static func lines(_ report: RecoveryReport) -> [String] {
    var lines: [String] = []
    if !report.wasClean {
      lines.append(
        "The last session did not end by an unmount. Everything up to its last moments is there.")
    }
    if report.damagedFrames > 0 {
      lines.append(
        "The store is damaged: \(report.damagedFrames) steps of its history are missing.")
    }
    if report.isEndMissing {
      lines.append("The store is damaged: the end of its history is missing.")
    }
    if report.isJournalIncomplete {
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
