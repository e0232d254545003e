import AlbumModel

/// Looks for dates in a packet of XMP: RDF in XML, where a property is an attribute or an element (ISO
/// 16684-1). The usual prefixes of the namespaces are taken for granted.
enum XMPPacket {
  /// Bytes that are looked at.
  static let limit: Int64 = 1 << 20
  private static let dateLimit = 40

  private static let properties = [
    "exif:DateTimeOriginal", "photoshop:DateCreated", "xmp:CreateDate",
    // The prefix of xmp in packets of before 2004.
    "xap:CreateDate",
  ].map { Array($0.utf8) }

  static func date(in packet: [UInt8]) -> CaptureTime? {
    for property in properties {
      for text in values(of: property, in: packet) {
        if let time = CaptureTime(xmp: text) { return time }
      }
    }
    return nil
  }

  /// The values behind the name of a property, `="…"` or `>…<`. At most some.
  static func values(of name: [UInt8], in packet: [UInt8]) -> [[UInt8]] {
    var found: [[UInt8]] = []
    var at = 0
    while at + name.count < packet.count, found.count < 10 {
      guard packet[at] == name[0], packet[at..<at + name.count].elementsEqual(name) else {
        at += 1
        continue
      }
      at += name.count
      if let value = value(packet[at...].prefix(dateLimit + 10)) { found.append(value) }
    }
    return found
  }

  private static func value(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var rest = text.drop(while: isBlank)
    let end: UInt8
    switch rest.first {
    case UInt8(ascii: ">"): end = UInt8(ascii: "<")
    case UInt8(ascii: "="):
      rest = rest.dropFirst().drop(while: isBlank)
      guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
        return nil
      }
      end = quote
    default: return nil
    }
    let value = rest.dropFirst().drop(while: isBlank)
    guard let stop = value.firstIndex(of: end) else { return nil }
    return Array(value[..<stop].prefix { !isBlank($0) })
  }

  private static func isBlank(_ byte: UInt8) -> Bool { [9, 10, 13, 32].contains(byte) }
}
