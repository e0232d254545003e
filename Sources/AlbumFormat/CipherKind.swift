/// The cipher that seals the records of a space. The space's slot names it by its raw value: never
/// renumbered, never reused. 3 is set aside for AEGIS-256, whose tag of 32 bytes needs another record layout.
package enum CipherKind: UInt32, Sendable, CaseIterable {
  /// XChaCha20-Poly1305 (IETF): fast on every processor.
  case xchacha20Poly1305 = 1
  /// AES-256-GCM with a key derived for each record, see `RecordLayout`: faster where the processor has
  /// instructions for AES, and not available elsewhere.
  case aes256GCM = 2

  /// For options, `status` and messages.
  package var name: String {
    switch self {
    case .xchacha20Poly1305: "xchacha20-poly1305"
    case .aes256GCM: "aes-256-gcm"
    }
  }

  package init?(name: String) {
    guard let kind = CipherKind.allCases.first(where: { $0.name == name }) else { return nil }
    self = kind
  }
}
