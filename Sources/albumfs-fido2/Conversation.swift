import AlbumSecrets
import Glibc
import SecurityKeyProtocol

/// The socket to albumfs at standard input and standard output.
enum Conversation {
  /// The longest PIN that FIDO2 knows has 63 bytes. The buffer has room for a zero byte behind it.
  private static let pinRoom = 64

  /// The request; nil if albumfs is gone, or sent something else.
  static func request() -> SecurityKeyRequest? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count < SecurityKeyRequest.maximumByteCount, readByte(&byte) {
      if byte == UInt8(ascii: "\n") {
        return SecurityKeyRequest(line: String(decoding: bytes, as: UTF8.self))
      }
      bytes.append(byte)
    }
    return nil
  }

  /// Reads the PIN, which a zero byte ends; nil if albumfs is gone. Throws `.pinLength`.
  static func pin() throws(SecurityKeyFault) -> SecretBytes? {
    var length: Int?
    var isTooLong = false
    let pin = unsafe SecretBytes(count: pinRoom) { room in
      var byte: UInt8 = 0
      defer { byte = 0 }
      for place in 0... {
        guard readByte(&byte) else { break }
        if byte == UInt8(ascii: "\n") {
          length = place
          break
        }
        if place < pinRoom - 1 { unsafe room[place] = byte } else { isTooLong = true }
      }
    }
    if isTooLong || length == 0 { throw .pinLength }
    if length == nil { return nil }
    return consume pin
  }

  /// Ends this program if albumfs is gone.
  static func send(_ reply: SecurityKeyReply) {
    let line = Array((reply.line + "\n").utf8)
    let count = unsafe write(STDOUT_FILENO, line, line.count)
    if count != line.count { exit(1) }
  }

  /// Writes the line with the secret.
  static func send(secret: borrowing SecretBytes) {
    let line = unsafe SecretBytes(count: SecretLine.byteCount + 1) { line in
      SecretLine.prefix.withUTF8Buffer {
        unsafe line.copyMemory(from: UnsafeRawBufferPointer($0))
      }
      let start = SecretLine.prefix.utf8CodeUnitCount
      unsafe secret.withUnsafeBytes { secret in
        for place in 0..<SecretLine.secretByteCount {
          unsafe line[start + 2 * place] = digit(secret[place] >> 4)
          unsafe line[start + 2 * place + 1] = digit(secret[place] & 15)
        }
      }
      unsafe line[SecretLine.byteCount] = UInt8(ascii: "\n")
    }
    unsafe line.withUnsafeBytes { unsafe _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
  }

  /// Computes, so that no table is read at a place that the secret names.
  private static func digit(_ value: UInt8) -> UInt8 {
    let letters = UInt8(ascii: "a") - UInt8(ascii: "0") - 10
    return UInt8(ascii: "0") + value + letters * ((value + 6) >> 4)
  }

  private static func readByte(_ byte: inout UInt8) -> Bool {
    while true {
      let count = unsafe read(STDIN_FILENO, &byte, 1)
      if count == -1, errno == EINTR { continue }
      return count == 1
    }
  }
}
