/// The properties of a HEIC or AVIF that tell how to decode, turn, cut and colour a picture (ISO 23008-12,
/// 6.5), with their fields alone. They keep their lengths: zeros replace what follows the fields.
package enum HEIFProperties {
  /// The greatest length of the fields of each; nil where the fields state it themselves.
  private static let lengths: [String: Int?] = [
    "ispe": 12, "irot": 1, "imir": 1, "clap": 32, "pasp": 8, "clli": 4, "mdcv": 24, "cclv": 37,
    "amve": 8, "a1op": 1, "a1lx": 13, "lsel": 2, "rloc": 12, "pixi": nil, "colr": nil, "auxC": nil,
    "hvcC": nil, "av1C": nil, "lhvC": nil, "avcC": nil, "vvcC": nil, "jpgC": nil, "j2kH": nil,
    "oinf": nil, "tols": nil,
  ]

  /// Returns what stays of a property, which has its length; nil if the property is not needed.
  package static func stripped(
    _ type: String, _ content: [UInt8]
  ) throws(StrippedPicture.Fault) -> [UInt8]? {
    guard let length = lengths[type] else { return nil }
    let kept: [UInt8]
    switch type {
    case "pixi": kept = Array(content.prefix(5 + Int(content.dropFirst(4).first ?? 0)))
    case "colr": kept = colours(content)
    case "auxC":
      let name = content.dropFirst(4).prefix { $0 != 0 }
      kept = Array(content.prefix(4) + name)
    case "hvcC": kept = try parameterSets(content)
    case "av1C": kept = try sequenceHeader(content)
    default: kept = Array(content.prefix(length ?? content.count))
    }
    return kept + [UInt8](repeating: 0, count: content.count - kept.count)
  }

  /// `colr`: a type, and a colour profile or numbers of 7 bytes.
  private static func colours(_ content: [UInt8]) -> [UInt8] {
    if content.starts(with: "nclx".utf8) { return Array(content.prefix(11)) }
    return Array(content.prefix(4)) + (ColourProfile.stripped(Array(content.dropFirst(4))) ?? [])
  }

  /// `hvcC` (ISO 14496-15, 8.3.3): 22 bytes, the number of arrays, and of each its type, its number of units,
  /// and each with its length. Units that are no parameter sets can hold any text.
  private static func parameterSets(
    _ content: [UInt8]
  ) throws(StrippedPicture.Fault) -> [UInt8] {
    func number(_ place: Int) throws(StrippedPicture.Fault) -> Int {
      if place + 2 > content.count { throw .damaged }
      return Int(content[place]) << 8 | Int(content[place + 1])
    }
    if content.count < 23 { throw .damaged }
    var (count, kept, place): (UInt8, [UInt8], Int) = (0, [], 23)
    for _ in 0..<content[22] {
      let start = place
      place += 3
      for _ in 0..<(try number(start + 1)) { place += 2 + (try number(place)) }
      if place > content.count { throw .damaged }
      if 32...34 ~= content[start] & 0x3F {
        count += 1
        kept += content[start..<place]
      }
    }
    return Array(content[..<22]) + [count] + kept
  }

  /// `av1C` (AV1 in ISOBMFF, 2.3): 4 bytes, and units of which only sequence headers are needed. The others
  /// become units that decoders skip (AV1, 5.3: a head, of which 4 bits are the kind, and perhaps a length).
  private static func sequenceHeader(
    _ content: [UInt8]
  ) throws(StrippedPicture.Fault) -> [UInt8] {
    let (sequenceHeader, padding): (UInt8, UInt8) = (1, 15)
    var result = content
    var place = 4
    while place < content.count {
      let head = content[place]
      var start = place + (head & 4 == 0 ? 1 : 2)
      var end = content.count
      if head & 2 != 0 {
        var (length, shift) = (0, 0)
        repeat {
          if start >= content.count || shift > 28 { throw .damaged }
          length |= Int(content[start] & 0x7F) << shift
          shift += 7
          start += 1
        } while content[start - 1] & 0x80 != 0
        end = start + length
      }
      if start > end || end > content.count { throw .damaged }
      if head >> 3 & 15 != sequenceHeader {
        result[place] = padding << 3 | head & 6
        for byte in start..<end { result[byte] = 0 }
      }
      place = end
    }
    return result
  }
}
