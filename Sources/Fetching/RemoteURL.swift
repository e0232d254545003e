internal import AlbumModel

/// An address of http or https as a person types it, as far as albumfs looks at it; libcurl parses it. Has no
/// characters that end a line.
package struct RemoteURL: Hashable, Sendable {
  package let text: String

  /// The longest one, in bytes.
  package static let limit = 8192

  /// Takes blanks off its ends and a fragment off its end, and encodes what an address cannot hold. nil for
  /// anything else than http or https.
  package init?(_ typed: some StringProtocol) {
    var bytes = Array(typed.utf8)[...]
    while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
    bytes = bytes.drop { $0 <= 0x20 }
    bytes = bytes.prefix { $0 != UInt8(ascii: "#") }
    let scheme = String(decoding: bytes.prefix(8), as: UTF8.self).lowercased()
    guard scheme.hasPrefix("http://") || scheme == "https://" else { return nil }
    let start = bytes.startIndex + (scheme == "https://" ? 8 : 7)
    let host = bytes[start...].prefix { !"/?".utf8.contains($0) }
    // A host may have letters of all languages, but no blanks.
    if host.isEmpty || bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) || host.contains(0x20) {
      return nil
    }
    var encoded = Array(bytes[..<host.endIndex])
    for byte in bytes[host.endIndex...] {
      if byte == 0x20 || byte > 0x7F {
        encoded += [UInt8(ascii: "%"), RemoteURL.digit(byte >> 4), RemoteURL.digit(byte & 15)]
      } else {
        encoded.append(byte)
      }
    }
    guard encoded.count <= RemoteURL.limit, let text = String(validating: encoded, as: UTF8.self)
    else { return nil }
    self.text = text
  }

  private static func digit(_ value: UInt8) -> UInt8 { Array("0123456789ABCDEF".utf8)[Int(value)] }

  /// Sixteen hexadecimal digits that differ for different addresses, as good as always (FNV-1a, 64 bits).
  var mark: String {
    let hash = text.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    return Hexadecimal.text(hash.bigEndianBytes)
  }
}

/// A list of addresses, one a line. Blank lines, and those that begin with `#`, count for nothing.
package enum RemoteURLList {
  /// More addresses are no list that a person made.
  package static let limit = 10_000

  /// The addresses in their order, each once, and the lines that hold none.
  package static func read(_ text: some StringProtocol) -> (urls: [RemoteURL], bad: [String]) {
    var urls: [RemoteURL] = []
    var seen: Set<RemoteURL> = []
    var bad: [String] = []
    for line in text.split(whereSeparator: \.isNewline) {
      let blank: (Character) -> Bool = \.isWhitespace
      let content = line.drop(while: blank)
      if content.isEmpty || content.hasPrefix("#") { continue }
      guard let url = RemoteURL(content) else {
        bad.append(String(content.prefix(200)))
        continue
      }
      if seen.insert(url).inserted { urls.append(url) }
    }
    return (urls, bad)
  }
}
