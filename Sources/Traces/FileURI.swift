/// `file:` URIs (RFC 8089), as desktop programs write them.
enum FileURI {
  /// The path that a URI names; nil for a URI of another scheme or another machine.
  static func path(_ uri: [UInt8]) -> [UInt8]? {
    let scheme = Array("file:".utf8)
    guard uri.count > scheme.count, uri[..<scheme.count].map(lowercase) == scheme else {
      return nil
    }
    var rest = uri[scheme.count...]
    if rest.starts(with: Array("//".utf8)) {
      let host = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") }
      if !host.isEmpty, host.map(lowercase) != Array("localhost".utf8) { return nil }
      rest = rest.dropFirst(2 + host.count)
    }
    guard rest.first == UInt8(ascii: "/") else { return nil }
    let path = decoded(rest)
    return path.contains(0) ? nil : path
  }

  /// The path of a file in a trash below a mount point, which gvfs names in one segment, encoded twice and
  /// with backslashes for slashes; nil for any other URI. A file in the trash of the home directory has its
  /// plain name there.
  static func trashedPath(_ uri: [UInt8]) -> [UInt8]? {
    let scheme = Array("trash:///".utf8)
    guard uri.starts(with: scheme) else { return nil }
    let (slash, backslash) = (UInt8(ascii: "/"), UInt8(ascii: "\\"))
    let segment = decoded(uri[scheme.count...])
    guard segment.first == backslash else { return nil }
    let path = decoded(segment.map { $0 == backslash ? slash : $0 }[...])
    return path.contains(0) ? nil : path
  }

  /// Decodes `%20` and the like. Keeps a percent sign without two digits, which sloppy programs write.
  static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap(digit)
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        bytes.append(digits[0] << 4 | digits[1])
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }

  /// Encodes a path as GLib and Qt do.
  static func encoded(_ path: [UInt8]) -> [UInt8] {
    let kept = Set("!$&'()*+,-./:;=@_~".utf8)
    return path.flatMap { byte -> [UInt8] in
      let isPlain =
        48...57 ~= byte || 65...90 ~= byte || 97...122 ~= byte || kept.contains(byte)
      if isPlain { return [byte] }
      let digits = Array("0123456789ABCDEF".utf8)
      return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
