package import AlbumFileSystem
internal import AlbumModel
internal import Glibc
package import Logging
import Posix

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
    /// How many threads use the link; the session may not end before they are through.
    var linkUsers = 0
    var device: DeviceNumber?
    var isStopping = false
    var hasEnded = false
  }
  /// Never held while the kernel is asked.
  private let state = Monitor(State())

  /// Checks the mount point. Without `readsSystemCalls` no thread is asked what it calls. `onReady` is
  /// called once, on a thread of the session, when the kernel takes requests; it must not use the mount.
  package init(
    fileSystem: FileSystem, options: MountOptions, mountPoint: String, readsSystemCalls: Bool,
    logger: Logger, onReady: @escaping @Sendable () -> Void = {}
  ) throws(MountError) {
    self.options = options
    self.mountPoint = try MountPoint(mountPoint)
    self.logger = logger
    let path = self.mountPoint.path
    driver = Driver(
      fileSystem: fileSystem,
      inspector: CallingSyscall(readsSystemCalls: readsSystemCalls), logger: logger
    ) {
      if let device = MountTable.mount(at: path)?.device {
        ReadAhead.widen(device: device)
      }
      onReady()
    }
  }

  /// Where it is mounted: absolute, without links.
  package var path: String { mountPoint.path }

  /// Mounts, and answers requests until the file system is unmounted by whomever. When it returns,
  /// all that the kernel had has been written to the file system, which no request uses any more.
  package func run() throws(MountError) {
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
    let isStopping = state.withLock { state in
      state.link = link
      state.device = MountTable.mount(at: path)?.device
      return state.isStopping
    }
    driver.fileSystem.add(driver)
    defer { end() }
    do throws(Errno) {
      try driver.notifications.start(link)
      try driver.pages.start(link)
    } catch {
      throw MountError(.sessionFailed, "No thread can be started: \(error).")
    }
    if isStopping { detach() }
    try session.loop()
  }

  /// The loop is over: the connection ended, or `stop` would wait no longer and nobody is told any
  /// more. Either way the thread that tells the kernel is free to end.
  private func end() {
    driver.fileSystem.remove(driver)
    driver.notifications.stop()
    driver.pages.stop()
    driver.inodes.forgetAll()
    state.withLock { $0.link = nil }
    state.waiting { $0.linkUsers == 0 ? () : nil }
    detach()
    state.withLock { $0.hasEnded = true }
    state.notifyAll()
  }

  /// Ends the mount: takes it out of sight, so that nothing new begins; waits up to `seconds` for
  /// those who still have files open in it; then has the kernel write out what it holds and cuts them
  /// off. Returns as the session has ended. Any thread but those that answer requests.
  package func stop(waiting seconds: Double = 5) {
    let isRunning = state.withLock { state in
      state.isStopping = true
      return state.link != nil
    }
    if !isRunning { return }
    driver.notifications.stop()
    detach()
    let deadline = SystemClock.monotonicNanoseconds() + Int64(seconds * 1e9)
    if state.waiting(until: deadline, { $0.hasEnded ? () : nil }) == nil {
      logger.notice("files are still open in the mount: cutting them off")
      driver.pages.stop()
      withLink { link in
        for inode in driver.fileSystem.writtenInodes { link.invalidate(inode.rawValue) }
        link.exit()
      }
      state.waiting { $0.hasEnded ? () : nil }
    }
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

  /// Unmounts what `run` mounted, if it is still what is seen there.
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

/// How far the kernel reads ahead of one who reads a file from its beginning: 128 KiB where nobody
/// asks for more, which is an eighth of what one request could bring. Only root may ask, so this is
/// for root's mounts alone; INIT can make it less, not more.
enum ReadAhead {
  static let kibibytes = 1024

  /// `device` is that of a mount. To be called when INIT has been answered.
  static func widen(device: DeviceNumber) {
    guard
      let file = try? FileDescriptor(open: "/sys/class/bdi/\(device)/read_ahead_kb", O_WRONLY)
    else { return }
    try? file.writeAll(Array("\(kibibytes)".utf8))
  }
}
