/// The room before a buffer of content. A record is sealed and decrypted in place, and its first bytes are
/// its own header, which lands before the content. Reading puts back what was there; sealing does not.
/// So nobody else may use these bytes during either call.
package enum ReadHeadroom {
  /// Bytes.
  package static let byteCount = 64
}
