internal import CLinux

/// The source of the running program: a commit and its date, or "unknown commit".
package enum ProgramSource {
  package static var text: String { unsafe String(cString: clinux_source()) }
}
