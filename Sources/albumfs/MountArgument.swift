import ArgumentParser
import ControlProtocol

/// The mount that a command asks about or works on.
struct MountArgument: ParsableArguments {
  @Argument(help: "Anything in the mount.", completion: .directory)
  var path: String

  /// A connection to its daemon.
  func connect() throws(Failure) -> ControlClient {
    try ControlClient(MountPath.find(path).mount)
  }
}

extension ControlReply {
  /// A refusal becomes the error that it is.
  func orThrow() throws(Failure) -> ControlReply {
    if case .failed(let failure) = self { throw failure }
    return self
  }

  /// The answer to a command that is carried out and has little to tell.
  func done() throws(Failure) -> ControlSummary {
    guard case .done(let summary) = try orThrow() else { throw Failure.unexpectedReply }
    return summary
  }
}

extension Failure {
  static let unexpectedReply = Failure(.unreachable, "The daemon answered something else.")
}
