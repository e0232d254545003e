package import AlbumModel

/// What a packet of XMP says of a photo besides its date: what digiKam, darktable and Lightroom write into
/// sidecars. The usual prefixes of the namespaces are taken for granted, as in `XMPPacket`.
///
/// Never trusts the packet: looks at its first mebibyte, and at a bounded number of texts.
package struct XMPNotes: Equatable, Sendable {
  package private(set) var date: CaptureTime?
  /// Stars from 1 to 5, or -1 for a photo that was rejected.
  package private(set) var rating: Int?
  package private(set) var caption: String?
  package private(set) var tags: [String] = []

  private static let mostTags = 1000

  /// nil if it is no packet of XMP.
  package init?(_ packet: [UInt8]) {
    let packet = Array(packet.prefix(Int(XMPPacket.limit)))
    guard packet.firstPlace(of: "<rdf:RDF", from: 0) != nil else { return nil }
    date = XMPPacket.date(in: packet)
    rating = XMPNotes.rating(packet)
    caption = XMPNotes.items(of: "dc:description", packet).first
    tags = XMPNotes.tags(packet)
  }

  private static func rating(_ packet: [UInt8]) -> Int? {
    let stars = ["-1", "1", "2", "3", "4", "5"].map { Array($0.utf8) }
    let found = XMPPacket.values(of: Array("xmp:Rating".utf8), in: packet).first
    // Some write a fraction.
    guard let whole = found?.split(separator: UInt8(ascii: "."), maxSplits: 1).first,
      stars.contains(Array(whole))
    else { return nil }
    return Int(String(decoding: whole, as: UTF8.self))
  }

  /// The plain names; where there are none, the last parts of the names that lead through a tree.
  private static func tags(_ packet: [UInt8]) -> [String] {
    var tags = items(of: "dc:subject", packet)
    for (name, mark) in [("digiKam:TagsList", "/"), ("lr:hierarchicalSubject", "|")]
    where tags.isEmpty {
      tags = items(of: name, packet).compactMap { $0.split(separator: mark).last.map(String.init) }
    }
    var seen: Set<String> = []
    return tags.prefix(mostTags).filter { seen.insert($0).inserted }
  }

  /// The texts in the list that an element holds, or its own text.
  private static func items(of name: String, _ packet: [UInt8]) -> [String] {
    guard let start = packet.firstPlace(of: "<\(name)", from: 0),
      let end = packet.firstPlace(of: "</\(name)>", from: start)
    else { return [] }
    let element = Array(packet[start..<end])
    var found: [String] = []
    var place = 0
    while found.count < mostTags, let item = element.firstPlace(of: "<rdf:li", from: place),
      let open = element[item...].firstIndex(of: UInt8(ascii: ">"))
    {
      // An item without a text ends at once.
      if element[open - 1] == UInt8(ascii: "/") {
        place = open
        continue
      }
      guard let close = element.firstPlace(of: "</rdf:li>", from: open) else { break }
      found.append(text(element[(open + 1)..<close]))
      place = close
    }
    return found.filter { !$0.isEmpty }
  }

  // MARK: Texts

  private static let entities = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'",
  ]

  /// The text of an element without blanks around it, its entities replaced.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    let parts = String(decoding: bytes, as: UTF8.self)
      .split(separator: "&", omittingEmptySubsequences: false)
    let rest = parts.dropFirst().map { part -> String in
      let name = part.prefix { $0 != ";" }
      guard name.utf8.count < part.utf8.count, let character = character(String(name)) else {
        return "&\(part)"
      }
      return character + part.dropFirst(name.count + 1)
    }
    let whole = ([String(parts.first ?? "")] + rest).joined()
    return String(
      whole.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }

  private static func character(_ entity: String) -> String? {
    if let known = entities[entity] { return known }
    guard entity.hasPrefix("#") else { return nil }
    let isHex = entity.hasPrefix("#x")
    let number = UInt32(entity.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10)
    return number.flatMap(Unicode.Scalar.init).map { String(Character($0)) }
  }
}

extension [UInt8] {
  /// Where a text begins at or behind a place.
  fileprivate func firstPlace(of text: String, from start: Int) -> Int? {
    let wanted = Array(text.utf8)
    guard let first = wanted.first else { return nil }
    var place = start
    while place + wanted.count <= count {
      if self[place] == first, self[place..<place + wanted.count].elementsEqual(wanted) {
        return place
      }
      place += 1
    }
    return nil
  }
}
