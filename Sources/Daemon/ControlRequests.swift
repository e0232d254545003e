import ControlProtocol
import Glibc
import Logging
import Posix

/// Answers what commands ask of a mount.
final class ControlRequests: Sendable {
  private let parts: Parts
  private let options: LaunchOptions
  private let log: DaemonLog
  private let stop: @Sendable () -> Void
  private let server = Mutex<ControlServer?>(nil)

  init(
    _ parts: Parts, options: LaunchOptions, log: DaemonLog, stop: @escaping @Sendable () -> Void
  ) {
    self.parts = parts
    self.options = options
    self.log = log
    self.stop = stop
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
      case .identify:
        return .identity(
          DaemonIdentity(pid: getpid(), store: options.store, mountPoint: options.mountPoint))
      case .status:
        return .status(parts.status(messages: log.messages))
      case .sync(let timeout):
        try parts.sync(timeout: timeout) { progress(.progress(pending: $0)) }
        return .done(ControlSummary())
      case .thumbnails(let path, let which):
        return .done(try parts.retryThumbnails(under: path, which))
      case .tidy(let album):
        return .done(try parts.tidy(album))
      case .stop:
        try end()
        return .done(ControlSummary())
      }
    } catch {
      return .failed(error)
    }
  }

  /// On a thread of its own: the answer must go out while there is somebody to send it.
  private func end() throws(Failure) {
    do throws(Errno) { try PosixThread(name: "stop", stop).detach() } catch {
      throw Failure(.other, "No thread can be started: \(error)")
    }
  }
}
