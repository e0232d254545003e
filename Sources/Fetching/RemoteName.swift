package import AlbumModel
package import FileKinds

/// The name that a file from the web gets. A server cannot choose a hidden one, or one that leads elsewhere.
package enum RemoteName {
  /// By Content-Disposition, or else by the address, with an ending that fits the content.
  package static func of(_ head: FetchHead, _ kind: ImageKind, start: [UInt8]) -> FileName {
    let stated = disposition(head.disposition).flatMap { plain($0) }
    let name = stated ?? lastPart(of: head.place).flatMap { plain($0) } ?? Array("picture".utf8)
    return fitting(name, kind, start)
  }

  // MARK: Where it stands

  /// The value of `filename*`, or else of `filename` (RFC 6266).
  private static func disposition(_ header: [UInt8]) -> [UInt8]? {
    var plain: [UInt8]?
    var rest = header[...]
    // Behind the first semicolon.
    while let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) {
      rest = rest[(semicolon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
      guard let equals = rest.firstIndex(of: UInt8(ascii: "=")) else { break }
      let key = String(decoding: rest[..<equals], as: UTF8.self).lowercased()
        .filter { $0 != " " }
      rest = rest[(equals + 1)...].drop { $0 == 0x20 }
      let value = takeValue(&rest)
      if key == "filename*", let text = extended(value) { return text }
      if key == "filename", plain == nil { plain = value }
    }
    // Servers send UTF-8, and of old Latin-1.
    return plain.map { String(validating: $0, as: UTF8.self) == nil ? latin($0) : $0 }
  }

  /// A quoted string or a token.
  private static func takeValue(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    guard rest.first == UInt8(ascii: "\"") else {
      let value = rest.prefix { $0 != UInt8(ascii: ";") }
      rest = rest[value.endIndex...]
      return Array(value).trimmed
    }
    var value: [UInt8] = []
    var place = rest.startIndex + 1
    while place < rest.endIndex, rest[place] != UInt8(ascii: "\"") {
      if rest[place] == UInt8(ascii: "\\"), place + 1 < rest.endIndex { place += 1 }
      value.append(rest[place])
      place += 1
    }
    rest = rest[min(place + 1, rest.endIndex)...]
    return value
  }

  /// `UTF-8''` or `ISO-8859-1''` and percent-encoded bytes (RFC 8187).
  private static func extended(_ value: [UInt8]) -> [UInt8]? {
    let parts = value.split(
      separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let bytes = decoded(parts[2])
    switch String(decoding: parts[0], as: UTF8.self).lowercased() {
    case "utf-8": return String(validating: bytes, as: UTF8.self) == nil ? nil : bytes
    case "iso-8859-1": return latin(bytes)
    default: return nil
    }
  }

  private static func latin(_ bytes: [UInt8]) -> [UInt8] {
    bytes.flatMap { Array(String(UnicodeScalar($0)).utf8) }
  }

  private static func lastPart(of address: [UInt8]) -> [UInt8]? {
    let path = address.prefix { !"?#".utf8.contains($0) }
    // Behind `https://` and the host.
    let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true)
    return parts.count > 2 ? parts.last.map { decoded($0) } : nil
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var place = bytes.startIndex
    while place < bytes.endIndex {
      if bytes[place] == UInt8(ascii: "%"), place + 2 < bytes.endIndex,
        let high = Hexadecimal.value(bytes[place + 1]),
        let low = Hexadecimal.value(bytes[place + 2])
      {
        result.append(high << 4 | low)
        place += 3
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return result
  }

  // MARK: What is left of it

  /// The part behind the last slash, without control characters and leading dots; nil if nothing is left.
  private static func plain(_ name: [UInt8]) -> [UInt8]? {
    let last = name.split(whereSeparator: { "/\\".utf8.contains($0) }).last.map(Array.init) ?? []
    guard let text = String(validating: last, as: UTF8.self) else { return nil }
    let kept = text.unicodeScalars.filter {
      switch $0.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: false
      default: true
      }
    }
    let line = Array(String(String.UnicodeScalarView(kept)).utf8).trimmed
    let bytes = Array(line.drop { $0 == UInt8(ascii: ".") })
    return bytes.isEmpty ? nil : bytes
  }

  private static func fitting(_ name: [UInt8], _ kind: ImageKind, _ start: [UInt8]) -> FileName {
    let dot = name.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
    var stem = name[..<dot]
    let ending = String(decoding: name[dot...].dropFirst(), as: UTF8.self)
    let isEnding =
      (1...5).contains(ending.utf8.count)
      && ending.utf8.allSatisfy { 48...57 ~= $0 || 65...90 ~= $0 & 0xDF }
    // What stands behind another dot belongs to the name.
    if !isEnding { stem = name[...] }
    let new =
      isEnding && kind.accepts(ending: ending.lowercased()) ? ending : kind.ending(start: start)
    let end = Array(".\(new)".utf8)
    while stem.count + end.count > FileName.maximumLength {
      // A character of UTF-8 goes as a whole.
      while let last = stem.popLast(), last & 0xC0 == 0x80 {}
    }
    return FileName(known: Array(stem) + end)
  }
}

extension [UInt8] {
  fileprivate var trimmed: [UInt8] {
    var slice = self.drop { $0 == 0x20 || $0 == 0x09 }
    while let last = slice.last, last == 0x20 || last == 0x09 { slice.removeLast() }
    return Array(slice)
  }
}
