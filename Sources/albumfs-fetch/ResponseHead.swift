import Fetching

/// What the lines of a response's head say that libcurl does not pass on.
struct ResponseHead {
  private(set) var disposition: [UInt8] = []
  private(set) var range: (start: Int64, total: Int64?)?
  private var tag: [UInt8] = []
  private var modified: [UInt8] = []
  private static let limit = 8192

  mutating func add(_ line: [UInt8]) {
    // The first line of a response; there may have been others before.
    if line.starts(with: "HTTP/".utf8) { self = ResponseHead() }
    guard line.count <= ResponseHead.limit, let colon = line.firstIndex(of: UInt8(ascii: ":"))
    else {
      return
    }
    let isBlank: (UInt8) -> Bool = { $0 <= 0x20 }
    var value = line[(colon + 1)...].drop(while: isBlank)
    while let last = value.last, isBlank(last) { value.removeLast() }
    switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
    case "content-disposition": disposition = Array(value).map { $0 < 0x20 ? 0x20 : $0 }
    case "content-range": range = ResponseHead.range(value)
    case "etag": tag = Array(value)
    case "last-modified": modified = Array(value)
    default: break
    }
  }

  /// What tells whether the file is still the same: a strong ETag, or else the date.
  var validator: String? {
    let text = tag.first == UInt8(ascii: "\"") ? tag : modified
    return FetchHead.validator(text)
  }

  /// `bytes 100-199/200`, or `*` for the total.
  private static func range(_ value: ArraySlice<UInt8>) -> (Int64, Int64?)? {
    let text = String(decoding: value, as: UTF8.self)
    guard text.hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/")
    guard parts.count == 2, let start = parts[0].split(separator: "-").first.flatMap({ Int64($0) })
    else { return nil }
    return (start, Int64(parts[1]))
  }
}
