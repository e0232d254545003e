/// The state of a process, as proc(5) knows it.
package enum ProcessState {
  /// True of a process that was killed and of which a thread is left: its first thread is a zombie.
  package static func isZombie(_ pid: Int32) -> Bool { ["Z", "X"].contains(letter(of: pid)) }

  /// True of a process that SIGSTOP or a debugger holds.
  package static func isStopped(_ pid: Int32) -> Bool { ["T", "t"].contains(letter(of: pid)) }

  /// nil where there is no such process.
  private static func letter(of pid: Int32) -> Substring? {
    guard let bytes = try? readWholeFile("/proc/\(pid)/stat") else { return nil }
    // The name before it, in parentheses, may hold anything.
    let text = String(decoding: bytes, as: UTF8.self)
    guard let name = text.lastIndex(of: ")") else { return nil }
    return text[text.index(after: name)...].split(separator: " ").first
  }
}
