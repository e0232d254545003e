/// The room before a buffer of content. A record is sealed and decrypted in place, and its first bytes are
/// its own header, which comes before the content. Reading restores these bytes afterwards; sealing does not.
/// So no other code may use them during either call.
package enum ReadHeadroom {
  /// Bytes.
  package static let byteCount = 64
}
