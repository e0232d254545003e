import SecurityKeyProtocol

/// The lines between albumfs and albumfs-fido2. The first byte chooses whose line it is.
enum SecurityKeyMessagesTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let request = SecurityKeyRequest(
      .make, salt: [UInt8](repeating: 0xA7, count: SecurityKeyRequest.saltByteCount))
    let replies: [SecurityKeyReply] = [
      .choose, .pin(tries: nil), .pin(tries: 3), .making, .touch, .failed(.wrongPin, tries: 7),
    ]
    return [[0] + Array(request.line.utf8)] + replies.map { [1] + Array($0.line.utf8) }
      + SecurityKeyFault.allCases.map {
        [1] + Array(SecurityKeyReply.failed($0, tries: nil).line.utf8)
      }
  }

  static func run(_ bytes: [UInt8]) {
    guard let direction = bytes.first else { return }
    let line = String(decoding: bytes.dropFirst(), as: UTF8.self)
    if direction & 1 == 0 {
      guard let request = SecurityKeyRequest(line: line) else { return }
      require(request.line == line, "a request has one spelling")
      require(line.utf8.count < SecurityKeyRequest.maximumByteCount, "a request is bounded")
    } else {
      guard let reply = SecurityKeyReply(line: line) else { return }
      require(SecurityKeyReply(line: reply.line) == reply, "a reply means the same when sent on")
    }
  }
}
