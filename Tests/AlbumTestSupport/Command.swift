package import Foundation
import Glibc

/// Runs programs as a user would, and returns their outcome.
package struct Command: Sendable {
  package struct Outcome: Sendable, Equatable {
    package var code: Int32
    package var output: String
    package var errors: String
  }

  package var program: String
  package var arguments: [String]
  package var input = Data()
  package var directory: String?
  /// Seconds after which the program is killed.
  package var timeout = 1000.0
  package var environment: [String: String] = [:]

  package init(_ program: String, _ arguments: [String]) {
    self.program = program
    self.arguments = arguments
  }

  /// A program that this package built, in the directory of the running tests.
  package static func built(_ name: String, _ arguments: [String]) -> Command {
    Command(builtPath(name), arguments)
  }

  package static func builtPath(_ name: String) -> String {
    let running = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    return running.deletingLastPathComponent().appendingPathComponent(name).path
  }

  /// Runs the program to its end, without a terminal. Its output goes to files, so that a child that
  /// outlives it cannot block the test.
  package func run() throws -> Outcome {
    let scratch = try ScratchDirectory()
    let files = ["in", "out", "err"].map { scratch.url.appendingPathComponent($0) }
    try input.write(to: files[0])
    try Data().write(to: files[1])
    try Data().write(to: files[2])
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    process.environment = ProcessInfo.processInfo.environment
      .merging(WeakPasswords.environment) { $1 }.merging(environment) { $1 }
    process.standardInput = try FileHandle(forReadingFrom: files[0])
    process.standardOutput = try FileHandle(forWritingTo: files[1])
    process.standardError = try FileHandle(forWritingTo: files[2])
    try process.run()
    // No test may hang for ever. A program that is killed here returns the code of SIGKILL.
    let end = ContinuousClock.now + .seconds(timeout)
    while process.isRunning, ContinuousClock.now < end {
      _ = eventually { !process.isRunning || ContinuousClock.now >= end }
    }
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    let code = process.terminationStatus
    return Outcome(
      code: process.terminationReason == .exit ? code : 128 + code,
      output: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self),
      errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
  }
}

/// A directory below the temporary directory, removed when the last reference goes.
package final class ScratchDirectory: Sendable {
  package let url: URL
  package var path: String { url.path }

  package init() throws {
    url = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appendingPathComponent("albumfs-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of a file in it. `appendingPathComponent` would check whether it is a directory, and so block
  /// for ever on a mount whose daemon does not reply.
  package func path(_ name: String) -> String { url.path + "/" + name }

  /// Writes a file into it and returns its path.
  @discardableResult
  package func write(_ name: String, _ content: String) throws -> String {
    try Data(content.utf8).write(to: url.appendingPathComponent(name))
    return path(name)
  }
}
