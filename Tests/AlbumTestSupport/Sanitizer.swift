import CLinux

/// The tests and the programs that they try were built for one: all takes several times as long and as
/// much memory. That of the cell has no bound then, and eating it would take the machine's.
package enum Sanitizer {
  package static let isOn = clinux_is_sanitized() != 0
}
