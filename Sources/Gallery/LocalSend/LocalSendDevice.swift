import FoundationEssentials

/// What the receiver says of itself in LocalSend's protocol, version 2.1.
struct LocalSendDevice: Sendable {
  /// The name that phones show. It is the constant title of the page, and says nothing of the machine.
  static let alias = "Album"
  private static let version = "2.1"

  /// SHA-256 of the server's certificate: hexadecimal digits without colons.
  let fingerprint: String
  let port: Int

  /// - Parameter certificate: its fingerprint as the terminal shows it, with colons.
  init(certificate: String, port: Int) {
    fingerprint = certificate.filter { $0 != ":" }
    self.port = port
  }

  /// The reply to `info` and `register`.
  var info: JSONText { description { _ in } }

  /// A datagram for the multicast group.
  ///
  /// - Parameter asks: true asks the others to reply; false is the reply to one that asked.
  func announcement(asks: Bool) -> [UInt8] {
    description { text in
      text.field("port", Int64(port))
      text.field("protocol", "https")
      text.field("announce", asks)
    }.bytes
  }

  private func description(_ more: (inout JSONText) -> Void) -> JSONText {
    var text = JSONText()
    text.object { text in
      text.field("alias", LocalSendDevice.alias)
      text.field("version", LocalSendDevice.version)
      text.field("deviceModel", "Linux")
      text.field("deviceType", "server")
      text.field("fingerprint", fingerprint)
      text.field("download", false)
      more(&text)
    }
    return text
  }

  /// True if a datagram is another device's announcement that wants a reply.
  func mustReply(to datagram: some Sequence<UInt8>) -> Bool {
    guard let other = try? JSONDecoder().decode(Announcement.self, from: Data(datagram)) else {
      return false
    }
    return other.announce == true && other.fingerprint != fingerprint
  }

  private struct Announcement: Decodable {
    var fingerprint: String
    var announce: Bool?
  }
}
