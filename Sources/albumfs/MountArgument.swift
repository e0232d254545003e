import ArgumentParser
import ControlProtocol

/// The mount of a command.
struct MountArgument: ParsableArguments {
  @Argument(help: "The mount point or anything below it.", completion: Completions.mounts)
  var path: String

  /// Connects to its daemon.
  func connect() throws(Failure) -> ControlClient {
    try ControlClient(MountPath.find(path).mount)
  }
}

extension ControlReply {
  /// Throws if the reply is a failure.
  func orThrow() throws(Failure) -> ControlReply {
    if case .failed(let failure) = self { throw failure }
    return self
  }

  /// Returns the summary of a `done` reply.
  func done() throws(Failure) -> ControlSummary {
    guard case .done(let summary) = try orThrow() else { throw Failure.unexpectedReply }
    return summary
  }
}

extension Failure {
  static let unexpectedReply = Failure(.unreachable, "The daemon sent an unexpected reply.")
}
