import AlbumTestSupport
import Foundation

/// A store made by `albumfs init`, and the command line on it.
final class TestStore {
  static let password = "correct horse"
  let scratch: ScratchDirectory
  var path: String { scratch.path("store") }

  init() throws {
    scratch = try ScratchDirectory()
    let made = try TestStore.run(
      ["init", path, "--kdf", "interactive", "--chaff", "0", "--password-stdin"],
      input: Self.password + "\n")
    guard made.code == 0 else { throw Unexpected(outcome: made) }
  }

  struct Unexpected: Error { var outcome: Command.Outcome }

  static func run(
    _ arguments: [String], input: String = "", environment: [String: String] = [:]
  ) throws -> Command.Outcome {
    var command = Command.built("albumfs", arguments)
    command.environment = environment
    command.input = Data(input.utf8)
    return try command.run()
  }

  /// The recovery key of the space that a password opens.
  func recoveryKey(_ password: String = TestStore.password) throws -> Command.Outcome {
    try TestStore.run(
      ["space", "recovery-key", path, "--password-stdin"], input: password + "\n")
  }

  func addSpace(
    _ password: String, _ options: [String] = [], environment: [String: String] = [:]
  ) throws -> Command.Outcome {
    try TestStore.run(
      ["space", "add", path, "--password-stdin"] + options, input: password + "\n",
      environment: environment)
  }

  /// All files of the store, paths relative to it.
  func files() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
  }

  func content(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
  }

  func write(_ name: String, _ content: Data) throws {
    try content.write(to: URL(fileURLWithPath: path + "/" + name))
  }
}
