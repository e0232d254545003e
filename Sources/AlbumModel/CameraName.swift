/// The name of a camera or a lens, as its picture states it: one line of characters that can be seen, with
/// single blanks between its words.
package struct CameraName: Hashable, Sendable {
  package let text: String

  /// In bytes of UTF-8.
  package static let lengths = 1...120

  /// nil for any other text.
  package init?(_ text: String) {
    let words = text.unicodeScalars.split(separator: " ", omittingEmptySubsequences: false)
    guard CameraName.lengths ~= text.utf8.count, words.allSatisfy({ !$0.isEmpty }),
      text.unicodeScalars.allSatisfy(CameraName.isVisible)
    else { return nil }
    self.text = text
  }

  /// Reads UTF-8; nil for anything else.
  package init?(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    self.init(text)
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == " " { return true }
    return switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
      .paragraphSeparator, .spaceSeparator:
      false
    default: true
    }
  }
}
