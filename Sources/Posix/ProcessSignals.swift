internal import Glibc

/// The signals and the language of the process.
package enum ProcessSignals {
  /// The handler writes the numbers of signals into it. The runtime starts threads with masks of their own,
  /// so blocked signals would not stay blocked everywhere.
  private static let channel: (reading: CInt, writing: CInt) = {
    var ends: [CInt] = [-1, -1]
    unsafe _ = pipe(&ends)
    for end in ends { Subprocess.setCloseOnExec(end) }
    return (ends[0], ends[1])
  }()

  /// Receives signals from now on, for `wait`.
  package static func receive(_ signals: [CInt]) {
    _ = channel
    for signal in signals {
      _ = Glibc.signal(signal) { number in
        var byte = UInt8(truncatingIfNeeded: number)
        unsafe _ = write(ProcessSignals.channel.writing, &byte, 1)
      }
    }
  }

  /// Waits for the next of the signals that `receive` named.
  package static func wait() -> CInt {
    var byte: UInt8 = 0
    while unsafe read(channel.reading, &byte, 1) != 1 {}
    return CInt(byte)
  }

  package static func ignore(_ signal: CInt) { _ = Glibc.signal(signal, SIG_IGN) }

  package static func end(_ process: Int32) { _ = kill(process, SIGTERM) }

  /// Makes C libraries take names as UTF-8, whatever the environment says.
  package static func useUnicodeNames() { _ = unsafe setlocale(LC_CTYPE, "C.UTF-8") }
}

/// Standard output, for programs that print little.
/// What another program wrote to this one before it started.
package enum StandardInput {
  /// Reads everything, and puts /dev/null in its place.
  package static func takeAll() -> [UInt8] {
    let input = FileDescriptor(owning: STDIN_FILENO)
    let content = (try? input.readToEnd()) ?? []
    _ = input.release()
    if let nothing = try? FileDescriptor(open: "/dev/null", O_RDONLY) {
      _ = dup2(nothing.rawValue, STDIN_FILENO)
    }
    return content
  }
}

package enum StandardOutput {
  package static func write(_ text: String) {
    let output = FileDescriptor(owning: STDOUT_FILENO)
    try? output.writeAll(Array(text.utf8))
    _ = output.release()
  }

  package static func writeError(_ text: String) {
    let output = FileDescriptor(owning: STDERR_FILENO)
    try? output.writeAll(Array(text.utf8))
    _ = output.release()
  }
}
