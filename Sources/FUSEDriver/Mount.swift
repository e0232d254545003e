package import AlbumFileSystem
internal import AlbumModel
internal import Glibc
package import Logging
package import Posix

/// One mounted file system, from `run` to the unmount.
///
/// `run` blocks its thread; `stop` may come from any other, such as one that waits for signals.
package final class Mount: Sendable {
  private let options: MountOptions
  private let mountPoint: MountPoint
  private let driver: Driver
  private let logger: Logger

  private struct State {
    var link: SessionLink?
    /// The number of threads that use the link. The session must not end before they are done.
    var linkUsers = 0
    var device: DeviceNumber?
    var isStopping = false
    var hasEnded = false
  }
  /// Never held during a call to the kernel.
  private let state = Monitor(State(), rank: .leaf)

  /// Checks the mount point. With `readsSystemCalls`, the driver reads the system calls of threads that wait
  /// for a look-up. It calls `onReady` once, on a thread of the session, when the kernel accepts requests;
  /// `onReady` must not use the mount.
  package init(
    fileSystem: FileSystem, options: MountOptions, mountPoint: String, readsSystemCalls: Bool,
    trace: EventTracer? = nil, logger: Logger, onReady: @escaping @Sendable () -> Void = {}
  ) throws(MountError) {
    self.options = options
    self.mountPoint = try MountPoint(mountPoint, mayHoldFiles: options.coversFiles)
    self.logger = logger
    let path = self.mountPoint.path
    driver = Driver(
      fileSystem: fileSystem,
      inspector: CallingSyscall(readsSystemCalls: readsSystemCalls), logger: logger,
      transport: options.transport,
      owners: options.owners(user: getuid(), group: getgid(), groups: Credentials.groups()),
      accessControl: options.accessControl || fileSystem.hasAccessControl, trace: trace
    ) {
      if let device = MountTable.mount(at: path)?.device {
        ReadAhead.widen(device: device)
      }
      onReady()
    }
  }

  /// The mount point: absolute, without links.
  package var path: String { mountPoint.path }

  /// The number of requests that wait in the kernel or are being served; nil if the kernel does not say.
  /// Waits for no lock.
  package var waitingRequests: Int? {
    guard let device = state.withLockIfFree({ $0.device }) ?? nil else { return nil }
    let count = try? readWholeFile("/sys/fs/fuse/connections/\(device.minor)/waiting")
    return count.flatMap { Int(String(decoding: $0, as: UTF8.self).prefix { $0.isNumber }) }
  }

  /// How requests of the kernel come. Ask when the mount is ready.
  package var transport: TransportInUse { driver.rings.inUse }

  /// Mounts, and serves requests until any process unmounts the file system. When it returns, the kernel has
  /// written all of its pages to the file system, and no request uses the file system any more.
  package func run() throws(MountError) {
    try driver.rings.prepare()
    defer { driver.rings.stop() }
    let device = try Mounting.mount(options, at: mountPoint)
    let session: Session
    do throws(MountError) {
      session = try Session(device: device, driver: driver)
    } catch {
      try? Mounting.detach(path)
      throw error
    }
    try serve(session)
  }

  private func serve(_ session: borrowing Session) throws(MountError) {
    let link = session.link
    let (isStopping, device) = state.withLock { state in
      state.link = link
      state.device = MountTable.mount(at: path)?.device
      return (state.isStopping, state.device)
    }
    driver.fileSystem.add(driver)
    defer { end() }
    do throws(Errno) {
      try driver.notifications.start(link)
      driver.thumbnailNames.start(link)
      try driver.pages.start(link)
      if let device {
        try driver.announcements.start(driver.fileSystem, mountPoint: path, device: device)
      }
    } catch {
      throw .systemRefused("start a thread", error)
    }
    if isStopping { detach() }
    try session.loop()
  }

  /// Cleans up after the loop. Either the connection ended, or `stop` gave up waiting and dropped all
  /// messages to the kernel. In both cases the thread that sends such messages can end.
  private func end() {
    driver.fileSystem.remove(driver)
    driver.notifications.stop()
    driver.thumbnailNames.stop()
    driver.announcements.stop()
    driver.pages.stop()
    driver.inodes.forgetAll()
    state.withLock { $0.link = nil }
    state.waiting { $0.linkUsers == 0 ? () : nil }
    detach()
    state.withLock { $0.hasEnded = true }
    state.notifyAll()
  }

  /// Ends the mount. Detaches it, so that nothing new begins, and waits up to `seconds` for programs that
  /// still have files open in it. Then makes the kernel write out its pages, and cuts these programs off.
  /// Returns when the session has ended. Any thread except those that serve requests.
  package func stop(waiting seconds: Double = 5) {
    let isRunning = state.withLock { state in
      state.isStopping = true
      return state.link != nil
    }
    if !isRunning { return }
    driver.notifications.stop()
    driver.announcements.stop()
    detach()
    let deadline = MonotonicTime.now + .seconds(seconds)
    if state.waiting(until: deadline, { $0.hasEnded ? () : nil }) == nil {
      logger.notice("files are still open in the mount: cutting them off")
      cutOff()
    }
  }

  /// Makes the kernel write out its pages, and ends the session.
  private func cutOff() {
    driver.pages.stop()
    withLink { link in
      for inode in driver.fileSystem.writtenInodes { link.invalidate(inode.rawValue) }
    }
    repeat { withLink { $0.exit() } } while !hasEnded(within: .milliseconds(100))
  }

  /// Refuses from now on to open anything, removes the mount from the tree, and ends the session when the
  /// last open file is closed: also where the file system is mounted elsewhere too, by a bind mount or in
  /// another mount namespace. Returns the number of open files when the mount is removed. Throws if no thread
  /// can wait for the last file; the mount is locked nevertheless. Any thread except those that serve
  /// requests.
  @discardableResult package func lock() throws(MountError) -> Int {
    let isNew = driver.openFiles.lock()
    state.withLock { $0.isStopping = true }
    driver.announcements.stop()
    detach()
    let number = driver.openFiles.number
    if !isNew { return number }
    do throws(Errno) {
      try PosixThread(name: "lock") { [self] in
        driver.openFiles.waitForNone()
        driver.notifications.stop()
        cutOff()
      }.detach()
    } catch {
      throw .systemRefused("start a thread", error)
    }
    return number
  }

  /// True if somebody used the space since the last call. To ask for its free room, or for the attributes of
  /// its root, is no use: desktops do that every few seconds.
  package func takeUse() -> Bool { driver.takeUse() }

  /// Makes no call through the mount during `body`, while `albumfs umount` unmounts it: such a call would
  /// keep it busy.
  package func keepingStill<Result>(_ body: () -> Result) -> Result {
    driver.announcements.pause()
    defer { driver.announcements.resume() }
    return body()
  }

  /// Unmounts, unless a file or directory of the mount is in use, which only the kernel knows. Then locks the
  /// space where it is mounted elsewhere too. Any thread except those that serve requests.
  package func stopIfUnused() {
    let device = state.withLock { $0.device }
    guard driver.openFiles.number == 0, let device, MountTable.mount(at: path)?.device == device
    else { return }
    do throws(MountError) {
      try Mounting.unmountUnused(path)
      try lock()
    } catch {
      logger.debug("the idle space is not unmounted", metadata: ["reason": "\(error)"])
    }
  }

  private func hasEnded(within duration: Duration) -> Bool {
    let deadline = MonotonicTime.now + duration
    return state.waiting(until: deadline) { $0.hasEnded ? () : nil } != nil
  }

  private func withLink(_ body: (SessionLink) -> Void) {
    let link = state.withLock { state in
      if state.link != nil { state.linkUsers += 1 }
      return state.link
    }
    guard let link else { return }
    body(link)
    state.withLock { $0.linkUsers -= 1 }
    state.notifyAll()
  }

  /// Unmounts what `run` mounted, unless something else is mounted over it.
  private func detach() {
    let device = state.withLock { $0.device }
    guard let device, MountTable.mount(at: path)?.device == device else { return }
    do throws(MountError) {
      try Mounting.detach(path)
    } catch {
      logger.warning("cannot unmount", metadata: ["reason": "\(error)"])
    }
  }
}

/// How far the kernel reads ahead during sequential reads. Its default is 128 KiB, an eighth of the greatest
/// request. Only root may raise it, so only root's mounts have more. INIT can only lower it.
enum ReadAhead {
  static let kibibytes = 1024

  /// `device` is that of the mount. Call it after the reply to INIT.
  static func widen(device: DeviceNumber) {
    guard
      let file = try? FileDescriptor(open: "/sys/class/bdi/\(device)/read_ahead_kb", O_WRONLY)
    else { return }
    try? file.writeAll(Array("\(kibibytes)".utf8))
  }
}
