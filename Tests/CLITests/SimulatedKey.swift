import AlbumTestSupport
import Foundation
import Glibc

/// A security key in software (`Tests/SecurityKeys/authenticator.py`), plugged in until the last reference goes.
final class SimulatedKey {
  static let pin = "1234"
  let socket: String
  private let scratch: ScratchDirectory
  private let process = Process()

  init(_ options: [String] = []) throws {
    scratch = try ScratchDirectory()
    socket = scratch.path("key")
    let log = try scratch.write("log", "")
    let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("SecurityKeys/authenticator.py")
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = [program.path, socket] + options
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
    try process.run()
    guard waits(for: "ready") else { throw CocoaError(.featureUnsupported) }
  }

  deinit {
    // The key may have inherited a blocked SIGTERM from the thread of the test.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// The actions of the key, one line each.
  var log: [String] {
    let text = (try? String(contentsOfFile: scratch.path("log"), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map(String.init)
  }

  func waits(for line: String) -> Bool {
    _ = eventually { log.contains(line) || !process.isRunning }
    return log.contains(line)
  }

  /// The environment in which these keys, and no others, are plugged in.
  static func environment(_ keys: [SimulatedKey]) -> [String: String] {
    ["ALBUMFS_TESTS_FIDO2": keys.map(\.socket).joined(separator: ":")]
  }
}

/// A command at a terminal, whose user types the PIN when it is asked for.
struct KeyedOutcome {
  var code: Int32?
  var output: String
  var errors: String

  /// `answers`: what the user types, each after the words that ask for it.
  init(
    _ arguments: [String], _ keys: [SimulatedKey],
    _ answers: [(String, String)] = [("PIN of the security key: ", SimulatedKey.pin)],
    program: String = Command.builtPath("albumfs"), environment: [String: String] = [:]
  ) throws {
    let session = try TerminalSession(
      program, arguments,
      environment: environment.merging(SimulatedKey.environment(keys)) { $1 })
    for (prompt, line) in answers where !session.answer(prompt, line) { break }
    code = session.wait()
    output = session.output
    errors = session.errors
  }
}
