package import AlbumSecrets
package import ControlProtocol
import FUSEDriver
import Glibc
import Logging
import Posix

/// One mounted space, from the password to the last barrier.
package final class AlbumDaemon: Sendable {
  /// Called once, when the mount serves requests, with warnings for the person. Answers whether
  /// anybody still wants the mount; if not, it ends again.
  package typealias Ready = @Sendable (_ warnings: [String]) -> Bool

  private let options: LaunchOptions
  private let log: DaemonLog
  private let logger: Logger
  private let ready: Ready

  package init(_ options: LaunchOptions, log: DaemonLog, ready: @escaping Ready) {
    self.options = options
    self.log = log
    logger = log.logger(verbose: options.verbose)
    self.ready = ready
  }

  /// Mounts, serves until unmounted or stopped by SIGTERM or SIGINT, and writes everything out.
  /// Throws where the mount did not come about, or where not everything could be written.
  ///
  /// Only the main thread of the process, with no other one started yet, and once: signals are
  /// set up for the whole process.
  package func run(
    secret: consuming SecretBytes, ignoringHangup: Bool, exitWhenInterrupted: Int32
  ) throws(Failure) {
    let signals = try watchSignals(ignoringHangup, exitWhenInterrupted)
    Hardening.raiseDescriptorLimit()
    Hardening.boundMemory()
    let parts = try Parts(options, secret: secret, logger: logger)
    let control = ControlRequests(parts, options: options, log: log)
    var failure = serve(parts, control, signals)
    do throws(Failure) { try parts.close() } catch { failure = error }
    control.tellEnd(failure)
    if let failure { throw failure }
    logger.info("unmounted; everything is on disk")
  }

  private func watchSignals(_ ignoringHangup: Bool, _ code: Int32) throws(Failure) -> SignalWatch {
    do throws(Errno) {
      return try SignalWatch(ignoringHangup: ignoringHangup, early: code)
    } catch {
      throw Failure(.other, "No thread can be started: \(error)")
    }
  }

  /// Answers why it did not come about or ended otherwise than by an unmount.
  private func serve(_ parts: Parts, _ control: ControlRequests, _ signals: SignalWatch) -> Failure?
  {
    do throws(MountError) {
      let mount = try parts.mount { [self] in
        let warnings = parts.warnings + control.start()
        for warning in warnings { logger.warning("\(warning)") }
        logger.info("mounted")
        // Not from here: this thread serves the mount, and the stop waits for it.
        if !ready(warnings) { try? PosixThread(name: "stop") { signals.stop() }.detach() }
      }
      signals.onStop { mount.stop() }
      defer { control.close() }
      try mount.run()
      return nil
    } catch {
      return Failure(error)
    }
  }
}
