/// The room before a read buffer that a reader may overwrite. A record is decrypted in place, and its
/// header lands before the content.
package enum ReadHeadroom {
  /// Bytes.
  package static let byteCount = 64
}
