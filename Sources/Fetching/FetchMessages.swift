// The conversation with albumfs-fetch, over a pair of sockets. The caller writes one request and closes its
// side. albumfs-fetch writes frames: one byte that states the kind, four with the length of the body
// (little-endian), and the body. The last frame is an end.

/// A request to albumfs-fetch to load one file. Its encoding is lines of text, `key value`.
package struct FetchRequest: Equatable, Sendable {
  package var url: RemoteURL
  /// The bytes that the caller has already.
  package var offset: Int64
  /// The ETag or the date that the server gave its file earlier; it shows whether the file has changed. A
  /// request with an offset needs it.
  package var validator: String?
  /// No more bytes than these.
  package var limit: Int64
  /// True if addresses of this machine and its networks are refused.
  package var isPublicOnly: Bool

  /// The longest request, in bytes.
  package static let byteLimit = 16 << 10

  package init(
    url: RemoteURL, offset: Int64 = 0, validator: String? = nil, limit: Int64, isPublicOnly: Bool
  ) {
    self.url = url
    self.offset = offset
    self.validator = validator
    self.limit = limit
    self.isPublicOnly = isPublicOnly
  }

  package func encode() -> [UInt8] {
    var lines = ["url \(url.text)", "limit \(limit)"]
    if offset > 0, let validator { lines += ["offset \(offset)", "validator \(validator)"] }
    if isPublicOnly { lines.append("public yes") }
    return Array((lines.joined(separator: "\n") + "\n").utf8)
  }

  /// The twin of `encode`; nil if it is no request.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count <= FetchRequest.byteLimit, bytes.last == UInt8(ascii: "\n"),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    var fields: [Substring: Substring] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1)
      guard words.count == 2, fields.updateValue(words[1], forKey: words[0]) == nil else {
        return nil
      }
    }
    guard let url = fields["url"].flatMap({ RemoteURL($0) }),
      let limit = fields["limit"].flatMap({ Int64($0) }), limit > 0
    else { return nil }
    let offset = fields["offset"].flatMap { Int64($0) } ?? 0
    guard offset >= 0, offset == 0 || fields["validator"] != nil else { return nil }
    self.init(
      url: url, offset: offset, validator: fields["validator"].map(String.init), limit: limit,
      isPublicOnly: fields["public"] != nil)
  }
}

/// The server's description of the file.
package struct FetchHead: Equatable, Sendable {
  /// Where the content that follows begins: 0, or the offset of the request.
  package var start: Int64 = 0
  /// The size of the whole file; nil if the server does not say it.
  package var total: Int64?
  package var validator: String?
  /// In seconds since 1970.
  package var modified: Int64?
  /// The value of Content-Disposition, as it came.
  package var disposition: [UInt8] = []
  /// The address at the end of all redirects.
  package var place: [UInt8] = []

  /// The longest head, in bytes.
  package static let byteLimit = 64 << 10
  /// The longest validator, in bytes. A longer one counts as none.
  package static let validatorLimit = 200

  package init() {}

  package func encode() -> [UInt8] {
    var bytes = Array("start \(start)\n".utf8)
    if let total { bytes += "total \(total)\n".utf8 }
    if let modified { bytes += "modified \(modified)\n".utf8 }
    if let validator { bytes += "validator \(validator)\n".utf8 }
    bytes += "disposition ".utf8 + disposition + "\n".utf8
    bytes += "place ".utf8 + place + "\n".utf8
    return bytes
  }

  /// The twin of `encode`; nil if it is no head. Trusts no number.
  init?(_ bytes: [UInt8]) {
    if bytes.count > FetchHead.byteLimit { return nil }
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let blank = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
      let value = Array(line[(blank + 1)...])
      func number() -> Int64? { Int64(String(decoding: value, as: UTF8.self)) }
      switch String(decoding: line[..<blank], as: UTF8.self) {
      case "start":
        guard let start = number(), start >= 0 else { return nil }
        self.start = start
      case "total":
        guard let total = number(), total >= 0 else { return nil }
        self.total = total
      case "modified":
        guard let modified = number(), abs(modified) < 1 << 40 else { return nil }
        self.modified = modified
      case "validator": validator = FetchHead.validator(value)
      case "disposition": disposition = value
      case "place": place = value
      default: return nil
      }
    }
  }

  /// A validator that can stand in a line of a request; nil for others.
  package static func validator(_ bytes: [UInt8]) -> String? {
    guard 1...validatorLimit ~= bytes.count, bytes.allSatisfy({ 0x20...0x7E ~= $0 }),
      bytes.first != 0x20
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Why a file did not come.
package enum FetchFault: String, Error, CaseIterable, Sendable {
  /// The address cannot be understood.
  case address
  /// The address belongs to this machine or its networks, or to another private network.
  case notPublic = "not-public"
  case unresolved
  case unreachable
  /// The server's certificate, or what it says in TLS, is not to be trusted.
  case certificate
  /// It redirects too often, or to something else than http and https.
  case redirects
  /// The server replied with a status that is no success.
  case status
  /// The file is larger than the limit.
  case large
  /// The server sends nothing, or almost nothing.
  case slow
  /// The connection ended before the file did.
  case broken
  /// The server does not have the rest that was asked for.
  case noRest = "no-rest"
  case failed
}

package struct FetchProblem: Error, Equatable, Sendable {
  package var fault: FetchFault
  /// The status of HTTP, with `status`.
  package var status: Int?

  package init(_ fault: FetchFault, status: Int? = nil) {
    self.fault = fault
    self.status = status
  }

  /// True if the next attempt may succeed.
  var mayPass: Bool {
    switch fault {
    case .slow, .broken, .unreachable: true
    case .status: [408, 429, 500, 502, 503, 504].contains(status ?? 0)
    default: false
    }
  }
}

/// One frame of albumfs-fetch.
package enum FetchReply: Equatable, Sendable {
  case head(FetchHead)
  case data([UInt8])
  /// The last one; nil: everything came.
  case end(FetchProblem?)

  /// The longest body of a frame with data, in bytes.
  package static let dataLimit = 256 << 10
  static let frameHead = 5

  package func encode() -> [UInt8] {
    let (kind, body): (UInt8, [UInt8]) =
      switch self {
      case .head(let head): (1, head.encode())
      case .data(let bytes): (2, bytes)
      case .end(nil): (3, [])
      case .end(let problem?):
        (3, Array("\(problem.fault.rawValue) \(problem.status ?? 0)".utf8))
      }
    let length = UInt32(body.count)
    return [kind] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + body
  }
}

/// Takes the frames out of what a pipe brings. Trusts nothing: a frame that is none ends the conversation.
package struct FetchReplyParser {
  package struct Malformed: Error, Equatable {}

  private var buffer: [UInt8] = []
  private var place = 0

  package init() {}

  package mutating func add(_ bytes: ArraySlice<UInt8>) {
    if place > 0 {
      buffer.removeFirst(place)
      place = 0
    }
    buffer += bytes
  }

  /// The next frame; nil if more bytes are needed.
  package mutating func next() throws(Malformed) -> FetchReply? {
    let rest = buffer[place...]
    if rest.count < FetchReply.frameHead { return nil }
    let length = rest.dropFirst().prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    let kind = rest[place]
    guard length <= [1: FetchHead.byteLimit, 2: FetchReply.dataLimit, 3: 40][kind] ?? -1 else {
      throw Malformed()
    }
    if rest.count < FetchReply.frameHead + length { return nil }
    let start = place + FetchReply.frameHead
    let body = Array(buffer[start..<start + length])
    place = start + length
    switch kind {
    case 1:
      guard let head = FetchHead(body) else { throw Malformed() }
      return .head(head)
    case 2: return .data(body)
    default:
      if body.isEmpty { return .end(nil) }
      let words = String(decoding: body, as: UTF8.self).split(separator: " ")
      guard words.count == 2, let fault = FetchFault(rawValue: String(words[0])),
        let status = Int(words[1]), 0...999 ~= status
      else { throw Malformed() }
      return .end(FetchProblem(fault, status: status == 0 ? nil : status))
    }
  }
}
