// The conversation with albumfs-remote, over a pair of sockets. Both sides write frames: the length of the
// head in four bytes, that of the body in eight (little-endian), the head, and the body. Each request has one
// reply. A head is lines of text, `key value`.

internal import AlbumModel

/// One request to albumfs-remote.
package enum RemoteCommand: Equatable, Sendable {
  /// The server and the credentials of what follows. May come again with others.
  case begin(RemoteServer, S3Credentials)
  /// The body is the content; `digest` is its SHA-256.
  case save(key: String, SaveCondition, digest: [UInt8])
  case load(key: String, Range<Int64>?, unless: ObjectVersion?)
  case stat(key: String)
  /// `part`: the next part of an earlier page.
  case list(prefix: String, part: String?)
  case remove(key: String)

  var isListing: Bool {
    if case .list = self { true } else { false }
  }

}

/// The server, and the bucket of all requests.
package struct RemoteServer: Hashable, Sendable {
  package var endpoint: S3Endpoint
  package var region: String
  package var bucket: String
  /// The bucket is in the name of the host: `https://bucket.s3.example.org/key`. Otherwise it is in the path.
  package var isBucketInHost: Bool
  /// A connection on which nothing moves is given up after so many seconds, so that the request can be made
  /// again.
  package var stallSeconds: Int

  package init(
    endpoint: S3Endpoint, region: String, bucket: String, isBucketInHost: Bool = false,
    stallSeconds: Int = 15
  ) {
    (self.endpoint, self.region, self.bucket) = (endpoint, region, bucket)
    self.isBucketInHost = isBucketInHost
    self.stallSeconds = stallSeconds
  }
}

/// A request, and when it is made.
package struct RemoteRequest: Equatable, Sendable {
  package var command: RemoteCommand
  /// In seconds since 1970, on the server's clock.
  package var time: Int64

  package init(_ command: RemoteCommand, time: Int64) {
    (self.command, self.time) = (command, time)
  }

  package func encode() -> [UInt8] {
    var lines = RemoteLines()
    lines.add("time", "\(time)")
    switch command {
    case .begin(let server, let credentials):
      lines.add("verb", "begin")
      lines.add("endpoint", server.endpoint.text)
      lines.add("region", server.region)
      lines.add("bucket", server.bucket)
      lines.add("style", server.isBucketInHost ? "virtual" : "path")
      lines.add("stall", "\(server.stallSeconds)")
      lines.add("access", credentials.accessKey)
      lines.add("secret", credentials.secretKey)
      lines.add("token", credentials.sessionToken)
    case .save(let key, let condition, let digest):
      lines.add("verb", "save")
      lines.add("key", key)
      lines.add("digest", Hexadecimal.text(digest))
      switch condition {
      case .any: break
      case .absent: lines.add("absent", "yes")
      case .same(let version): lines.add("same", version.text)
      }
    case .load(let key, let range, let known):
      lines.add("verb", "load")
      lines.add("key", key)
      lines.add("unless", known?.text)
      lines.add("from", range.map { "\($0.lowerBound)" })
      lines.add("to", range.map { "\($0.upperBound)" })
    case .stat(let key):
      lines.add("verb", "stat")
      lines.add("key", key)
    case .list(let prefix, let part):
      lines.add("verb", "list")
      lines.add("prefix", prefix)
      lines.add("part", part)
    case .remove(let key):
      lines.add("verb", "remove")
      lines.add("key", key)
    }
    return lines.bytes
  }

  /// The twin of `encode`; nil if it is no request.
  package init?(_ bytes: [UInt8]) {
    guard let lines = RemoteLines(bytes), let time = lines["time"].flatMap({ Int64($0) }),
      let command = RemoteCommand(lines)
    else { return nil }
    self.init(command, time: time)
  }
}

extension RemoteCommand {
  fileprivate init?(_ lines: RemoteLines) {
    switch lines["verb"] {
    case "begin":
      guard let endpoint = lines["endpoint"].flatMap(S3Endpoint.init), let region = lines["region"],
        S3Endpoint.isRegion(region),
        let bucket = lines["bucket"], let stall = lines["stall"].flatMap({ Int($0) }),
        1...3600 ~= stall,
        let credentials = S3Credentials(
          accessKey: lines["access"] ?? "", secretKey: lines["secret"] ?? "",
          sessionToken: lines["token"])
      else { return nil }
      let server = RemoteServer(
        endpoint: endpoint, region: region, bucket: bucket,
        isBucketInHost: lines["style"] == "virtual", stallSeconds: stall)
      self = .begin(server, credentials)
    case "save":
      guard let key = lines["key"],
        let digest = lines["digest"].flatMap({ Hexadecimal.bytes($0) })
      else { return nil }
      let same = lines["same"].map { SaveCondition.same(ObjectVersion($0)) }
      self = .save(key: key, lines["absent"] != nil ? .absent : same ?? .any, digest: digest)
    case "load":
      guard let key = lines["key"] else { return nil }
      let (from, to) = (lines["from"].flatMap { Int64($0) }, lines["to"].flatMap { Int64($0) })
      var range: Range<Int64>?
      if let from, let to {
        if from < 0 || from >= to { return nil }
        range = from..<to
      }
      self = .load(key: key, range, unless: lines["unless"].map { ObjectVersion($0) })
    case "stat":
      guard let key = lines["key"] else { return nil }
      self = .stat(key: key)
    case "list": self = .list(prefix: lines["prefix"] ?? "", part: lines["part"])
    case "remove":
      guard let key = lines["key"] else { return nil }
      self = .remove(key: key)
    default: return nil
    }
  }
}

/// Why albumfs-remote has no response of the server.
package enum RemoteFault: String, Error, CaseIterable, Sendable {
  case address, unresolved, unreachable, certificate, slow, broken, large, confinement, failed
}

/// The reply of albumfs-remote to one request. The body of a frame is the content, with `load`.
package struct RemoteReply: Equatable, Sendable {
  /// The status of HTTP; 0 if there is no response.
  package var status = 0
  package var fault: RemoteFault?
  /// The server's word for an error.
  package var code: String?
  package var version: ObjectVersion?
  /// Of the whole object.
  package var size: Int64?
  /// The part of the object that came; nil if the server does not say it.
  package var range: Range<Int64>?
  /// What was stated as the SHA-256 of the content when it was saved.
  package var digest: [UInt8]?
  /// The server's clock, in seconds since 1970.
  package var date: Int64?
  /// True if the server may have got the request twice.
  package var mayBeRepeated = false
  /// With whole keys.
  package var page: ObjectPage?
  /// How the keys of the page begin; nil if the server does not say it.
  package var prefix: String?

  package init() {}

  /// A number of bytes, as a server writes it; nil if it is none.
  package static func size(_ digits: some StringProtocol) -> Int64? {
    Int64(digits).flatMap { $0 < 0 ? nil : $0 }
  }

  package func encode() -> [UInt8] {
    var lines = RemoteLines()
    lines.add("status", "\(status)")
    lines.add("fault", fault?.rawValue)
    lines.add("code", code)
    lines.add("version", version?.text)
    lines.add("size", size.map { "\($0)" })
    lines.add("from", range.map { "\($0.lowerBound)" })
    lines.add("to", range.map { "\($0.upperBound)" })
    lines.add("digest", digest.map { Hexadecimal.text($0) })
    lines.add("date", date.map { "\($0)" })
    lines.add("repeated", mayBeRepeated ? "yes" : nil)
    lines.add("prefix", prefix)
    if let page {
      lines.add("page", page.next == nil ? "last" : "more")
      lines.add("next", page.next)
      for object in page.objects {
        let version = object.version.text.filter { $0 != " " }
        lines.add("object", "\(object.size) \(version) \(object.name)")
      }
    }
    return lines.bytes
  }

  /// The twin of `encode`; nil if it is no reply.
  package init?(_ bytes: [UInt8]) {
    guard let lines = RemoteLines(bytes), let status = lines["status"].flatMap({ Int($0) }),
      0...999 ~= status
    else { return nil }
    self.status = status
    if let name = lines["fault"] { fault = RemoteFault(rawValue: name) ?? .failed }
    code = lines["code"]
    version = lines["version"].map { ObjectVersion($0) }
    size = lines["size"].flatMap(RemoteReply.size)
    if let from = lines["from"].flatMap(RemoteReply.size),
      let to = lines["to"].flatMap(RemoteReply.size), from <= to
    {
      range = from..<to
    }
    prefix = lines["prefix"]
    digest = lines["digest"].flatMap { Hexadecimal.bytes($0) }
    date = lines["date"].flatMap { Int64($0) }
    mayBeRepeated = lines["repeated"] != nil
    guard let page = lines["page"] else { return }
    let objects = lines.all("object").map(ListedObject.init(line:))
    let next = lines["next"]
    if objects.contains(nil) || (next == nil) != (page == "last") { return nil }
    self.page = ObjectPage(objects: objects.compactMap(\.self), next: next)
  }
}

extension ListedObject {
  fileprivate init?(line: String) {
    let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard words.count == 3, let size = RemoteReply.size(words[0]) else { return nil }
    self.init(name: String(words[2]), size: size, version: ObjectVersion(String(words[1])))
  }
}

/// The lines of a head.
struct RemoteLines {
  private(set) var bytes: [UInt8] = []
  private var values: [(key: Substring, value: Substring)] = []
  /// The most bytes of a value that a server chooses.
  static let valueLimit = 4096

  init() {}

  /// nil if these are no lines.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= RemoteFrame.headLimit, let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    for line in text.split(separator: "\n") {
      guard let blank = line.firstIndex(of: " ") else { return nil }
      values.append((line[..<blank], line[line.index(after: blank)...]))
    }
  }

  /// Adds a line; none for nil. A value that does not fit one line is left out, so that nothing follows it.
  mutating func add(_ key: String, _ value: String?) {
    guard let value, !value.utf8.contains(10) else { return }
    bytes += "\(key) \(value)\n".utf8
  }

  subscript(key: String) -> String? {
    values.first { $0.key == key }.map { String($0.value) }
  }

  func all(_ key: String) -> [String] {
    values.filter { $0.key == key }.map { String($0.value) }
  }
}

/// The lengths of a frame.
package enum RemoteFrame {
  /// A listing has 1,000 names of at most 1,024 bytes.
  package static let headLimit = 2 << 20
  /// A segment has at most 64 MiB.
  package static let bodyLimit = 65 << 20
  package static let lengthBytes = 12

  package static func lengths(head: Int, body: Int) -> [UInt8] {
    little(UInt64(head), 4) + little(UInt64(body), 8)
  }

  /// The twin of `lengths`; nil if one is beyond its limit.
  package static func lengths(_ bytes: [UInt8]) -> (head: Int, body: Int)? {
    guard bytes.count == lengthBytes else { return nil }
    let (head, body) = (number(bytes[..<4]), number(bytes[4...]))
    guard head <= UInt64(headLimit), body <= UInt64(bodyLimit) else { return nil }
    return (Int(head), Int(body))
  }

  private static func little(_ number: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
