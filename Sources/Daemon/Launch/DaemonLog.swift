import CLinux
import ControlProtocol
import Glibc
import Logging
import Posix

/// The daemon's log: standard error in the foreground, otherwise the system log (syslog(3), facility daemon).
/// It also keeps the last messages for `albumfs status`.
///
/// Several spaces may be mounted, so every line names its mount. The system log outlives every unmount,
/// others can read it, and its disk is not encrypted. Unless the user asks for more (`--verbose`), it gets
/// one sentence for each error, with the mount's device number, without paths, segments or times, and
/// nothing about a session in which all goes well. `albumfs status --verbose` shows everything. Any thread.
package final class DaemonLog: Sendable {
  package enum Target: Sendable { case standardError, systemLog }

  /// Messages kept for `albumfs status`.
  static let keptMessages = 50

  private let target: Target
  private let mountPoint: String
  /// As of the mount: the kernel's table does not have it any more when the session ends.
  private let device = Mutex<DeviceNumber?>(nil, rank: .leaf)
  private let kept = Mutex<[String]>([], rank: .leaf)

  package init(_ target: Target, mountPoint: String) {
    self.target = target
    self.mountPoint = mountPoint
    if target == .systemLog { unsafe clinux_log_open("albumfs") }
  }

  /// Names the device of the mount, which the system log gets in place of its path.
  func isMounted(as number: DeviceNumber) { device.withLock { $0 = number } }

  /// A logger that writes here.
  func logger(verbose: Bool) -> Logger {
    Logger(label: "albumfs") { _ in
      Handler(log: self, isVerbose: verbose, logLevel: verbose ? .debug : .info)
    }
  }

  /// The last messages, oldest first.
  package var messages: [String] { kept.withLock { $0 } }

  /// The text for the system log in place of a message; nil for none.
  private func publicText(_ level: Logger.Level) -> String? {
    let event: String
    switch level {
    case .critical: event = "it can store nothing more"
    case .error: event = "an error"
    default: return nil
    }
    let device = device.withLock { $0 }.map { " \($0)" } ?? ""
    return "mounted space\(device): \(event); run albumfs status --verbose on its mount point"
  }

  fileprivate func write(_ level: Logger.Level, _ message: String, isVerbose: Bool) {
    kept.withLock { kept in
      kept.append(message)
      if kept.count > DaemonLog.keptMessages { kept.removeFirst() }
    }
    switch target {
    case .systemLog:
      guard let text = isVerbose ? named(message) : publicText(level) else { return }
      unsafe clinux_log(level.systemLevel, text)
    case .standardError:
      try? borrowStandardError(Array("albumfs: \(named(message))\n".utf8))
    }
  }

  /// Writes a line that the user asked for, about how a mount works. It names no mount, because others
  /// can read the system log, which has the process.
  func trace(_ line: String) throws(Errno) {
    switch target {
    case .systemLog: unsafe clinux_log(Logger.Level.info.systemLevel, line.printable)
    case .standardError: try borrowStandardError(Array("\(line.printable)\n".utf8))
    }
  }

  /// The same for a report. `messages` do not have it.
  func report(_ lines: [String]) {
    for line in lines { try? trace("albumfs: \(line)") }
  }

  private func named(_ message: String) -> String { "\(mountPoint): \(message)".printable }

  private func borrowStandardError(_ bytes: [UInt8]) throws(Errno) {
    try retrying {
      unsafe bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
  }

  private struct Handler: LogHandler {
    let log: DaemonLog
    let isVerbose: Bool
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      var text = "\(event.message)"
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      for (key, value) in all.sorted(by: { $0.key < $1.key }) { text += " \(key)=\(value)" }
      if let error = event.error { text += ": \(error)" }
      log.write(event.level, text, isVerbose: isVerbose)
    }
  }
}

extension Logger.Level {
  /// The priority of syslog(3).
  fileprivate var systemLevel: CInt {
    switch self {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}
