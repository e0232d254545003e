import AlbumStore
import ControlProtocol
import Logging
import Posix

/// Serves the requests of commands.
final class ControlRequests: Sendable {
  private let parts: Parts
  private let options: LaunchOptions
  private let log: DaemonLog
  private let server = Mutex<ControlServer?>(nil, rank: .leaf)
  private let end = Monitor(End(), rank: .leaf)

  /// How the session ended, and how many commands wait to learn that.
  private struct End {
    var isMountGone = false
    var waiting = 0
    var isOver = false
    var failure: Failure?
  }

  init(_ parts: Parts, options: LaunchOptions, log: DaemonLog) {
    self.parts = parts
    self.options = options
    self.log = log
  }

  /// Starts to serve. The mount works without it, so a failure returns a warning.
  func start() -> [String] {
    do throws(Errno) {
      guard let mount = try MountTable.current().mount(at: options.mountPoint) else {
        return ["The mount was taken away at once."]
      }
      log.isMounted(as: mount.device)
      let server = try ControlServer(device: mount.device) { [self] request, progress in
        answer(request, progress)
      }
      self.server.withLock { $0 = server }
      return []
    } catch {
      return ["albumfs status, sync and the like will not work on this mount: \(error)"]
    }
  }

  /// Stops accepting, because the mount and its device number are gone. Commands that wait for the end
  /// continue. The space is about to be closed: no further request changes it.
  func close() {
    end.withLock { $0.isMountGone = true }
    server.withLock { $0 }?.close()
  }

  /// Reports the end of the session to all commands that wait for it, and returns when they have the reply.
  /// The process may exit then.
  func reportEnd(_ failure: Failure?) {
    end.withLock { end in
      end.isOver = true
      end.failure = failure
    }
    end.notifyAll()
    // A client that does not read must not keep the daemon alive.
    let deadline = MonotonicTime.now + .seconds(5)
    server.withLock { $0 }?.replyToAll(until: deadline)
    _ = end.waiting(until: deadline) { $0.waiting == 0 ? () : nil }
  }

  /// Waits for the end of the session and reports it. Notices within a second if the client has disconnected.
  private func reportWhenOver(_ progress: (ControlReply) -> Bool) -> ControlReply {
    parts.keepingMountStill { waitForEnd(progress) }
  }

  private func waitForEnd(_ progress: (ControlReply) -> Bool) -> ControlReply {
    end.withLock { $0.waiting += 1 }
    defer {
      end.withLock { $0.waiting -= 1 }
      end.notifyAll()
    }
    // The first reply confirms the request.
    while true {
      if !progress(.progress(pending: 0)) { return .ended(nil) }
      let deadline = MonotonicTime.now + .seconds(1)
      let outcome = end.waiting(until: deadline) { end -> Failure?? in
        end.isOver ? .some(end.failure) : .none
      }
      if let outcome {
        // Sent here, and not by the caller, because `reportEnd` waits for it.
        _ = progress(.ended(outcome))
        return .ended(outcome)
      }
    }
  }

  private static func needsNoMount(_ request: ControlRequest) -> Bool {
    switch request {
    case .status, .describe, .serves, .lock, .end: true
    default: false
    }
  }

  private func answer(_ request: ControlRequest, _ progress: (ControlReply) -> Bool)
    -> ControlReply
  {
    do throws(Failure) {
      if !ControlRequests.needsNoMount(request), end.withLock({ $0.isMountGone }) {
        throw Failure(
          .unreachable, "\(options.mountPoint) was unmounted; its daemon writes the rest and ends.")
      }
      switch request {
      case .status:
        return .status(parts.status(messages: log.messages))
      case .describe:
        return .description(parts.description)
      case .sync(let timeout):
        try parts.sync(timeout: timeout) { progress(.progress(pending: $0)) }
        return .done(ControlSummary())
      case .barrier:
        try parts.barrier()
        return .done(ControlSummary())
      case .thumbnails(let path, let which):
        return .done(try parts.retryThumbnails(under: path, which))
      case .tidy(let album):
        return .done(try parts.tidy(album))
      case .tidyPreview(let album):
        return .done(try parts.tidyPreview(album))
      case .tidyByDate(let album, let preview):
        return .done(try parts.tidyByDate(album, preview: preview))
      case .tidyUndo:
        return .done(try parts.undoTidy())
      case .deletedFiles(let place):
        return .deletedFiles(parts.deletedFiles(from: place))
      case .restoreDeleted(let selection):
        return .done(try parts.restoreDeleted(selection))
      case .purgeDeleted(let selection, let consent):
        return .done(try parts.purgeDeleted(selection, consent: consent))
      case .deletedThumbnail(let number):
        return .picture(base64: try parts.deletedThumbnail(number))
      case .deletedSettings:
        return .deletedSettings(parts.deletedSettings)
      case .setDeletedSettings(let settings, let consent):
        return .deletedSettings(try parts.setDeletedSettings(settings, consent: consent))
      case .snapshots:
        return .snapshots(parts.snapshots)
      case .makeSnapshot(let name):
        return .snapshots(try parts.makeSnapshot(name))
      case .removeSnapshots(let names, let consent):
        return .done(try parts.removeSnapshots(names, consent: consent))
      case .restoreSnapshot(let name, let path):
        return .done(try parts.restore(path, from: name))
      case .compareSnapshots(let old, let new):
        return .done(try parts.difference(from: old, to: new))
      case .serves(let space):
        return .done(ControlSummary(count: parts.space.memoryName == space ? 1 : 0))
      case .means(let name, let inode, let thread):
        return .done(try parts.means(name, inode, by: thread))
      case .preview(let path, let edge):
        return .picture(base64: try parts.preview(path, edge: edge))
      case .lock:
        return .done(ControlSummary(count: try parts.lock()))
      case .end:
        return reportWhenOver(progress)
      case .compact:
        return .compacted(
          try parts.compact { progress(.moved(bytes: $0, of: $1)) })
      }
    } catch {
      return .failed(error)
    }
  }
}
