import ControlProtocol
import Logging
import Posix

/// Answers what commands ask of a mount.
final class ControlRequests: Sendable {
  private let parts: Parts
  private let options: LaunchOptions
  private let log: DaemonLog
  private let server = Mutex<ControlServer?>(nil)

  init(_ parts: Parts, options: LaunchOptions, log: DaemonLog) {
    self.parts = parts
    self.options = options
    self.log = log
  }

  /// Begins to answer. Without that the mount works all the same, so what hinders it is a warning.
  func start() -> [String] {
    do throws(Errno) {
      guard let mount = try MountTable.current().mount(at: options.mountPoint) else {
        return ["The mount was taken away at once."]
      }
      let server = try ControlServer(device: mount.device) { [self] request, progress in
        answer(request, progress)
      }
      self.server.withLock { $0 = server }
      return []
    } catch {
      return ["albumfs status, sync and the like will not work on this mount: \(error)"]
    }
  }

  /// The mount is gone, and its number with it. Commands that wait for the end go on waiting.
  func close() { server.withLock { $0 }?.close() }

  private func answer(_ request: ControlRequest, _ progress: (ControlReply) -> Bool)
    -> ControlReply
  {
    do throws(Failure) {
      switch request {
      case .status:
        return .status(parts.status(messages: log.messages))
      case .sync(let timeout):
        try parts.sync(timeout: timeout) { progress(.progress(pending: $0)) }
        return .done(ControlSummary())
      case .thumbnails(let path, let which):
        return .done(try parts.retryThumbnails(under: path, which))
      case .tidy(let album):
        return .done(try parts.tidy(album))
      case .compact:
        return .compacted(
          try parts.compact { progress(.moved(bytes: $0, of: $1)) })
      }
    } catch {
      return .failed(error)
    }
  }
}
