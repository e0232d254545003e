import ControlProtocol
import Logging
import Posix

/// Answers what commands ask of a mount.
final class ControlRequests: Sendable {
  private let parts: Parts
  private let options: LaunchOptions
  private let log: DaemonLog
  private let server = Mutex<ControlServer?>(nil, rank: .leaf)
  private let end = Monitor(End(), rank: .leaf)

  /// How the session ended, and who waits to be told.
  private struct End {
    var waiting = 0
    var isOver = false
    var failure: Failure?
  }

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

  /// The session is over: tells all commands that wait for its end how it ended; returns when they have
  /// been told. The process may end then.
  func tellEnd(_ failure: Failure?) {
    end.withLock { end in
      end.isOver = true
      end.failure = failure
    }
    end.notifyAll()
    // A client that does not read must not keep the daemon.
    let deadline = MonotonicTime.now + .seconds(5)
    _ = end.waiting(until: deadline) { $0.waiting == 0 ? () : nil }
  }

  /// Waits for the end of the session and tells the client; notices within a second that it is gone.
  private func tellWhenOver(_ progress: (ControlReply) -> Bool) -> ControlReply {
    end.withLock { $0.waiting += 1 }
    defer {
      end.withLock { $0.waiting -= 1 }
      end.notifyAll()
    }
    // The first tells the client that its question has come.
    while true {
      if !progress(.progress(pending: 0)) { return .ended(nil) }
      let deadline = MonotonicTime.now + .seconds(1)
      let outcome = end.waiting(until: deadline) { end -> Failure?? in
        end.isOver ? .some(end.failure) : .none
      }
      if let outcome {
        // Sent here, and not by who called: `tellEnd` waits for this.
        _ = progress(.ended(outcome))
        return .ended(outcome)
      }
    }
  }

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
      case .end:
        return tellWhenOver(progress)
      case .compact:
        return .compacted(
          try parts.compact { progress(.moved(bytes: $0, of: $1)) })
      }
    } catch {
      return .failed(error)
    }
  }
}
