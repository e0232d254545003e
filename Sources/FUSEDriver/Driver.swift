internal import AlbumFileSystem
internal import AlbumModel
internal import Logging
internal import Posix

import struct Synchronization.Atomic

/// What each request of the kernel means, in plain Swift: flags become modes, C structures become
/// values, and the file system is asked. Keeps what the kernel knows, and as an observer of the file
/// system has it forget what is not so any more. The fence in `Fuse/` calls it and sends the answers.
///
/// Any thread; holds no lock while it asks.
final class Driver: Sendable {
  let fileSystem: FileSystem
  let logger: Logger
  let pages = KernelPages()
  let notifications = Notifications()
  /// What the kernel knows.
  let inodes = KernelInodes()
  let implicit: ImplicitEntries
  let activity: AlbumActivity
  private let onReady: @Sendable () -> Void
  private let ready = Atomic(false)
  /// Files that the log says cannot be read (innermost lock).
  private let unreadable = Mutex<Set<InodeNumber>>([])
  /// How many such lines the log gets in one mount.
  private static let unreadableLimit = 200

  init(
    fileSystem: FileSystem, inspector: any CallerInspector, logger: Logger,
    onReady: @escaping @Sendable () -> Void = {}
  ) {
    self.fileSystem = fileSystem
    self.logger = logger
    implicit = ImplicitEntries(inspector: inspector)
    activity = AlbumActivity(clock: fileSystem.clock)
    self.onReady = onReady
  }

  /// Whether the kernel and the driver have agreed on how they talk.
  var isReady: Bool { ready.load(ordering: .acquiring) }

  /// They have: requests come from now on.
  func becomeReady() {
    if !ready.exchange(true, ordering: .acquiringAndReleasing) { onReady() }
  }

  /// Tells the log what the caller's error number cannot: why data could not be read or written.
  /// All else is the answer to a question, and no news.
  func note(_ error: FSError, reading file: InodeNumber? = nil) {
    guard error.code == .inputOutput else { return }
    if let file { return noteUnreadable(file, error) }
    logger.error("a request failed", metadata: ["reason": "\(error)"])
  }

  /// One line for each file, whoever tries how often: readers try again, page by page. Without its
  /// name, which is nothing for the system's log.
  private func noteUnreadable(_ file: InodeNumber, _ error: FSError) {
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
    switch change {
    case .name(let name, let directory, let album, let isThere):
      if isThere, let album { activity.createdSomething(in: album) }
      // The kernel knows what it asked for.
      if !isOwn { notifications.forget(entry: name, in: directory) }
    case .contentLost(let file):
      // The kernel is to show what is stored, and not what it had handed over.
      inodes.renew(file)
      for (name, directory) in fileSystem.names(of: file) {
        notifications.forget(entry: name, in: directory)
      }
    // Of thumbnails the kernel believes no name, and of an open file no attributes.
    case .written, .thumbnail: break
    }
  }
}
