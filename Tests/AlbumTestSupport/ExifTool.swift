import Foundation
import Posix

/// One `exiftool` for all tests of a process. It is a Perl program, and takes longer to start than to work.
final class ExifTool: Sendable {
  struct Failed: Error { var arguments: [String], output: String }

  private struct Running: ~Copyable {
    let process: Process
    let input: FileHandle
    let output: FileHandle
    var unread = Data()
    var count = 0
  }

  private static let shared = Mutex<Running?>(nil, rank: .test)

  /// Runs it with these arguments, which name files by absolute paths; returns its standard output.
  static func run(_ arguments: [String]) throws -> String {
    try shared.withLock { running in
      if running == nil { running = try start() }
      guard var tool = running.take() else { return "" }
      tool.count += 1
      let end = "{ready\(tool.count)}"
      let words = arguments + ["-echo3", "${status}", "-execute\(tool.count)"]
      try tool.input.write(contentsOf: Data((words.joined(separator: "\n") + "\n").utf8))
      while tool.unread.range(of: Data(end.utf8)) == nil {
        let more = tool.output.availableData
        // It ended; the next call starts another.
        if more.isEmpty { throw Failed(arguments: arguments, output: "exiftool ended") }
        tool.unread += more
      }
      var lines = String(decoding: tool.unread, as: UTF8.self).split(separator: "\n")
      tool.unread = Data()
      running = consume tool
      lines.removeAll { $0 == end }
      let status = lines.popLast()
      let output = lines.joined(separator: "\n")
      guard status == "0" else { throw Failed(arguments: arguments, output: output) }
      return output
    }
  }

  private static func start() throws -> Running {
    let process = Process()
    let (input, output) = (Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/bash")
    // At the end of its input it would wait for more.
    let end = "cat; printf '%s\\n' -stay_open False"
    process.arguments = ["-c", "exec exiftool -stay_open True -@ - < <(\(end))"]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    return Running(
      process: process, input: input.fileHandleForWriting, output: output.fileHandleForReading)
  }
}
