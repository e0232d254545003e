internal import AlbumFileSystem
internal import AlbumModel
internal import Logging
internal import Posix

import struct Synchronization.Atomic

/// Serves the requests of the kernel in plain Swift: it turns flags into modes and C structures into values,
/// and calls the file system. It tracks what the kernel knows. As an observer of the file system it makes the
/// kernel forget what has changed. The fence in `Fuse/` calls it and sends the replies.
///
/// Any thread. Holds no lock while it calls the file system.
final class Driver: Sendable {
  let fileSystem: FileSystem
  let logger: Logger
  let pages = KernelPages()
  let notifications = Notifications()
  let announcements = Announcements()
  let thumbnailNames = ThumbnailNames()
  /// The inodes that the kernel knows.
  let inodes = KernelInodes()
  let openFiles = OpenFiles()
  let implicit: ImplicitEntries
  let activity: AlbumActivity
  let rings: Rings
  let owners: Owners
  /// nil: nobody watches.
  let trace: RequestTrace?
  /// The kernel enforces POSIX ACLs.
  let usesAccessControl: Bool
  private let onReady: @Sendable () -> Void
  private let ready = Atomic(false)
  /// True if a request came since `takeUse`.
  private let wasUsed = Atomic(true)
  /// The files for which the log has a read error. A leaf.
  private let unreadable = Mutex<Set<InodeNumber>>([], rank: .leaf)
  /// The greatest number of such lines in the log of one mount.
  private static let unreadableLimit = 200

  init(
    fileSystem: FileSystem, inspector: any CallerInspector, logger: Logger,
    transport: TransportChoice = .device, owners: Owners = .stored, accessControl: Bool = false,
    trace: EventTracer? = nil,
    onReady: @escaping @Sendable () -> Void = {}
  ) {
    self.owners = owners
    usesAccessControl = accessControl
    self.fileSystem = fileSystem
    self.logger = logger
    implicit = ImplicitEntries(inspector: inspector)
    activity = AlbumActivity(clock: fileSystem.clock)
    self.trace = trace.map(RequestTrace.init)
    rings = Rings(transport, trace: self.trace, logger: logger)
    self.onReady = onReady
  }

  /// True if the kernel and the driver have agreed on the protocol.
  var isReady: Bool { ready.load(ordering: .acquiring) }

  /// The kernel and the driver have agreed on the protocol. Requests come from now on.
  func becomeReady() {
    if !ready.exchange(true, ordering: .acquiringAndReleasing) { onReady() }
  }

  /// A request came by which somebody uses the space. Called for each, so it writes only what changes.
  func use() {
    if !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
  }

  /// True if such a request came since the last call.
  func takeUse() -> Bool { wasUsed.exchange(false, ordering: .relaxed) }

  /// Logs why data could not be read or written, which the caller's error number cannot say. Other errors are
  /// ordinary results and are not logged.
  func logFailure(_ error: FSError, reading file: InodeNumber? = nil) {
    guard error.code == .inputOutput else { return }
    if let file { return logUnreadable(file, error) }
    logger.error("a request failed", metadata: ["reason": "\(error)"])
  }

  /// Logs one line for each file, because readers try again page by page. The line does not have the name,
  /// which must not get into the system's log.
  private func logUnreadable(_ file: InodeNumber, _ error: FSError) {
    let count = unreadable.withLock { known -> Int? in
      if known.count > Driver.unreadableLimit { return nil }
      return known.insert(file).inserted ? known.count : nil
    }
    guard let count else { return }
    if count > Driver.unreadableLimit {
      logger.error("more files cannot be read; albumfs check names them all")
    } else {
      logger.error(
        "the file with inode number \(file.rawValue) cannot be read",
        metadata: ["reason": "\(error)"])
    }
  }
}

extension Driver: FileSystemObserver {
  func changed(_ change: FileSystemChange, isOwn: Bool) {
    thumbnailNames.changed()
    switch change {
    case .name(let name, let directory, let album, let isThere):
      if isThere, let album { activity.createdSomething(in: album) }
      // The kernel knows the changes that it requested.
      if !isOwn { notifications.forget(entry: name, in: directory) }
    case .contentLost(let file):
      // The kernel must show the stored content, not the pages that it had handed over.
      inodes.renew(file)
      for (name, directory) in fileSystem.names(of: file) {
        notifications.forget(entry: name, in: directory)
      }
    case .thumbnail(let photo): announcements.add(photo)
    case .attributes(let directory): notifications.forget(attributes: directory)
    // The kernel caches no attributes of an open file.
    case .written: break
    }
  }
}
