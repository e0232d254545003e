internal import AlbumFormat
package import AlbumSecrets
import AlbumStore
import CLinux
package import ControlProtocol
import FUSEDriver
import Glibc
import Logging
package import Posix

/// One mounted space, from the password to the last barrier. `run` belongs to the main thread.
package final class AlbumDaemon: Sendable {
  /// Called once, when the mount serves requests, with warnings for the user. Returns false if the command no
  /// longer waits for the mount. The daemon then unmounts.
  package typealias Ready = @Sendable (_ warnings: [String]) -> Bool

  /// Opens the store that the options name. `tell` receives its outages, see `Outages`.
  package typealias StoreOpener =
    @Sendable (_ options: LaunchOptions, _ tell: @escaping @Sendable (Outage?) -> Void)
    throws(Failure) -> OpenedStore

  private let options: LaunchOptions
  private let openStore: StoreOpener
  private let log: DaemonLog
  private let logger: Logger
  private let ready: Ready

  package init(
    _ options: LaunchOptions, log: DaemonLog, openStore: @escaping StoreOpener,
    ready: @escaping Ready
  ) {
    self.options = options
    self.openStore = openStore
    self.log = log
    logger = log.logger(verbose: options.verbose)
    self.ready = ready
  }

  /// Mounts, serves until an unmount or until SIGTERM or SIGINT, and writes everything out. Throws if the
  /// mount failed, or if it could not write everything.
  ///
  /// Call it once, on the main thread, before any other thread starts: it sets up signals for the whole
  /// process.
  package func run(
    secret: consuming SecretBytes, ignoringHangup: Bool, exitWhenInterrupted: Int32
  ) throws(Failure) {
    let signals = try watchSignals(ignoringHangup, exitWhenInterrupted)
    try AlbumDaemon.raiseLimits()
    // Unused memory then returns to the kernel. The only large blocks are a password's 256 MiB and segments
    // of 4 MiB.
    clinux_bound_malloc()
    let trace = try MountTrace(options.trace, log)
    defer { trace.stop() }
    let tell = StoreOpening.teller(logger)
    let opened = try openStore(options, tell)
    let store = try StoreOpening.patient(opened.store, options.store, tell)
    let parts = try Parts(
      options, OpenedStore(store, requirement: opened.requirement), secret: secret, trace: trace,
      logger: logger)
    reportState(of: parts, on: signals)
    // The replay of the journal leaves 100 free bytes for each file, in pieces that free does not return.
    clinux_return_free_memory()
    let control = ControlRequests(parts, options: options, log: log)
    var failure = serve(parts, control, signals)
    do throws(Failure) { try parts.close() } catch { failure = error }
    control.reportEnd(failure)
    if let failure { throw failure }
    logger.info("unmounted; everything is \(parts.restingPlace)")
  }

  private func watchSignals(_ ignoringHangup: Bool, _ code: Int32) throws(Failure) -> SignalWatch {
    do throws(Errno) {
      return try SignalWatch(ignoringHangup: ignoringHangup, early: code)
    } catch {
      throw Failure(.other, "No thread can be started: \(error)")
    }
  }

  /// The mount works without it.
  private func reportState(of parts: Parts, on signals: SignalWatch) {
    do throws(Errno) {
      try signals.onReport { [log] in log.report(StateReport(parts).lines) }
    } catch {
      logger.warning("SIGUSR1 will show nothing: \(error)")
    }
  }

  /// Returns why the mount failed, or ended otherwise than by an unmount; nil after an unmount.
  private func serve(_ parts: Parts, _ control: ControlRequests, _ signals: SignalWatch) -> Failure?
  {
    do throws(MountError) {
      let mount = try parts.makeMount { [self] in
        let warnings = parts.warnings + control.start()
        for warning in warnings { logger.warning("\(warning)") }
        logger.info("mounted")
        // Not on this thread: it serves the mount, and the stop waits for it.
        if !ready(warnings) { try? PosixThread(name: "stop") { signals.stop() }.detach() }
      }
      signals.onStop { mount.stop() }
      if let seconds = options.idleSeconds {
        IdleWatch.start(mount, after: .seconds(seconds), logger)
      }
      defer { control.close() }
      try mount.run()
      // The unmount may have come from fusermount3 or a signal.
      MadeDirectory.remove(options.mountPoint)
      return nil
    } catch {
      return Failure(error)
    }
  }

  /// Raises two limits as far as the kernel permits. Each segment that is read needs a descriptor, and none
  /// can be written if files may not be as long. Throws if a limit is too low to work with.
  private static func raiseLimits() throws(Failure) {
    let descriptors = raise(RLIMIT_NOFILE)
    if descriptors < leastDescriptors {
      throw Failure(
        .other,
        "This process may open only \(descriptors) files at once, and a mount needs \(leastDescriptors). Raise the hard limit (ulimit -Hn, or LimitNOFILE= of a unit)."
      )
    }
    let length = raise(RLIMIT_FSIZE)
    if length < SegmentLayout.maximumByteCount {
      throw Failure(
        .other,
        "This process may write only \(length) bytes into one file, and a mount needs \(SegmentLayout.maximumByteCount). Raise the hard limit (ulimit -Hf, or LimitFSIZE= of a unit)."
      )
    }
  }

  private static let leastDescriptors: UInt = 256

  /// Returns the raised limit.
  private static func raise(_ resource: __rlimit_resource) -> UInt {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return .max }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    return limit.rlim_max
  }
}
