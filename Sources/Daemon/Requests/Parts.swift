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

/// The parts of one mounted space. They start bottom first and end top first. One thread starts and ends
/// them; in between, any thread.
final class Parts: Sendable {
  let options: LaunchOptions
  let space: Space
  let fileSystem: FileSystem
  /// nil: albumfs makes no thumbnails.
  let queue: ThumbnailQueue?
  /// Makes pictures of screen size on demand; nil: there is no decoder.
  let previews: Previews?
  /// Why albumfs makes none from the start; nil if it makes some.
  let noThumbnails: NoThumbnails?
  /// Warnings from before the mount, one sentence each.
  private let storeWarnings: [String]
  /// Records how far history goes; nil without --remember.
  private let history: HistoryWatch?
  private let mountOptions: MountOptions
  private let mount = Mutex<FUSEDriver.Mount?>(nil, rank: .leaf)
  /// The moves of the last `tidy`, for `tidy --undo`.
  let lastTidy = Mutex<[TidyReport.Move]>([], rank: .leaf)
  private let trace: MountTrace
  private let logger: Logger

  /// Unlocks the space and starts its threads, but does not mount it.
  init(
    _ options: LaunchOptions, _ opened: OpenedStore, secret: consuming SecretBytes,
    trace: MountTrace, logger: Logger
  ) throws(Failure) {
    let store = opened.store
    self.options = options
    self.trace = trace
    self.logger = logger
    do throws(MountError) { mountOptions = try options.parsedMountOptions() } catch {
      throw Failure(error)
    }
    let isReadOnly = mountOptions.readOnly
    if !isReadOnly { store.warnWhereChaffIsForbidden() }
    let space = try Parts.openSpace(opened, options, secret, isReadOnly, trace, logger)
    self.space = space
    let seen = options.remembersIn.map { SeenHistory(directory: $0, of: space) }
    history = seen.map { HistoryWatch($0, of: space, logger: logger) }
    storeWarnings =
      store.warnings.map(\.sentence)
      + (seen?.warning(of: space).map { [$0] } ?? [])
    let point = try options.snapshot.map { (name) throws(Failure) in
      try Parts.point(name, in: space).number
    }
    fileSystem = FileSystem(space: space, at: point, trace: trace.thumbnails)
    do throws(Errno) { try history?.start() } catch {
      logger.warning("the end of history is recorded only at the unmount: \(error)")
    }
    (queue, noThumbnails) = Parts.startThumbnails(
      fileSystem, space, isReadOnly ? nil : options, trace, logger)
    // A preview is of the present.
    let decoder = point == nil ? options.thumbnailer : nil
    previews = decoder.map { [fileSystem, space] program in
      Previews(fileSystem, space, program: program, logger: logger)
    }
  }

  var isReadOnly: Bool { mountOptions.readOnly }

  /// For the user who mounts, one sentence each.
  var warnings: [String] {
    storeWarnings + takeOverWarnings + space.unreadableFiles.map { Failure.sentence($0.message) }
      + space.status.recovery.sentences(ofReader: space.follows)
      + (isReadOnly ? [] : noThumbnails.map { ["No thumbnails will be made: \($0.words)."] } ?? [])
  }

  /// Prepares a mount; its `run` makes it.
  func makeMount(onReady: @escaping @Sendable () -> Void) throws(MountError) -> FUSEDriver.Mount {
    let made = try FUSEDriver.Mount(
      fileSystem: fileSystem, options: mountOptions, mountPoint: options.mountPoint,
      readsSystemCalls: options.inspectsSystemCalls, trace: trace.fuse, logger: logger,
      onReady: onReady)
    mount.withLock { $0 = made }
    return made
  }

  /// How the kernel's requests come. Ask when the mount is ready.
  var transport: TransportInUse { mount.withLock { $0 }?.transport ?? .device(nil) }

  /// Requests of the kernel without a reply; nil if that is not known. Waits for no lock.
  var waitingRequests: Int? { (mount.withLockIfFree { $0 } ?? nil)?.waitingRequests }

  /// Makes no call of its own through the mount during `body`.
  func keepingMountStill<Result>(_ body: () -> Result) -> Result {
    guard let mount = mount.withLock({ $0 }) else { return body() }
    return mount.keepingStill(body)
  }

  /// Refuses to open anything in the space and removes its mount from the tree. The session ends when the
  /// last open file is closed. Returns the number of open files.
  func lock() throws(Failure) -> Int {
    guard let mount = mount.withLock({ $0 }) else { return 0 }
    do throws(MountError) { return try mount.lock() } catch { throw Failure(error) }
  }

  /// Writes everything out. Call it when nobody uses the mount any more.
  func close() throws(Failure) {
    space.endPatience()
    queue?.stop()
    previews?.stop()
    let unwritten = fileSystem.close()
    do throws(StoreError) { try space.close() } catch {
      history?.stop()
      // The next mount here has all of it.
      if error.code == .notSent {
        logger.error("\(error)")
        throw Failure(error)
      }
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
    _ opened: OpenedStore, _ options: LaunchOptions, _ secret: consuming SecretBytes,
    _ readOnly: Bool, _ trace: MountTrace, _ logger: Logger
  ) throws(Failure) -> Space {
    let store = opened.store
    let keys: SpaceKeys
    do throws(StoreError) {
      keys =
        switch options.secretKind {
        case .password: try store.unlock(password: secret)
        case .recoveryKey: try store.unlock(recoveryKey: secret)
        }
    } catch {
      // A trial that is cut off would leave its object.
      try? opened.require()
      throw Failure(error)
    }
    try opened.require()
    let name = keys.memoryName
    do throws(StoreError) {
      var opening = SpaceOpenOptions(logger: logger)
      opening.readOnly = readOnly
      opening.grace = .seconds(options.graceSeconds)
      opening.addsChaff = !TestHooks.forbidsChaff
      opening.syncsThere = options.durability == .remote
      if store.directory.relay != nil { opening.watch = SpaceOpenOptions.watchThere }
      opening.trace.journal = trace.journal
      opening.trace.compaction = trace.compaction
      return try Space.open(store, keys: keys, options: opening)
    } catch {
      if error.code == .inUse {
        throw SpaceHolder.failure(ofSpace: name, in: options.store)
      }
      if options.secretKind == .recoveryKey, error.code == .missing || error.code == .notAStore {
        throw Failure(
          .wrongPassword,
          "No space of this store has this recovery key (or the copy of the store is incomplete).")
      }
      throw Failure(error)
    }
  }

  private static func startThumbnails(
    _ fileSystem: FileSystem, _ space: Space, _ options: LaunchOptions?, _ trace: MountTrace,
    _ logger: Logger
  ) -> (ThumbnailQueue?, NoThumbnails?) {
    guard let options, let program = options.thumbnailer else { return (nil, .noProgram) }
    let edge = space.read { $0.properties[.thumbnailEdge] } ?? 512
    let plain = ThumbnailSource(
      fileSystem: fileSystem, thumbnailEdge: Int(clamping: edge), logger: logger)
    let source: any PhotoSource =
      trace.thumbnails.map { TracedSource(plain, $0) } ?? plain
    do throws(Errno) {
      let launch = WorkerLaunch(program: program)
      var videos = options.videoThumbnailer.map { WorkerLaunch(program: $0) }
      videos?.marksVideos = options.marksVideos
      let queue = try ThumbnailQueue(
        source: source, launch: launch, videos: videos, logger: logger)
      fileSystem.whenPhotosWait { queue.wake() }
      return (queue, nil)
    } catch {
      return (nil, .noThreads(error))
    }
  }
}
