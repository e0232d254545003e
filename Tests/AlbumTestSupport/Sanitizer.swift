import CLinux

/// True if the tests and the programs under test were built with a sanitizer. Everything then takes several
/// times as long and as much memory. The cell's memory has no limit then, and a test that exhausts it would
/// exhaust the machine's.
package enum Sanitizer {
  package static let isOn = clinux_is_sanitized() != 0
}
