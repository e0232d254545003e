internal import AlbumModel

/// The fields of S3's heads that have a meaning here, all in lower case.
package enum S3Field {
  package static let tag = "etag"
  package static let range = "content-range"
  package static let date = "date"
  /// SHA-256 of the content, as whoever saved the object stated it.
  package static let digest = "x-amz-meta-sha256"
}

extension S3Call {
  /// The request of S3 that a command means. Buckets are part of the path, which nearly every server
  /// understands, or of the host's name.
  package init(_ command: RemoteCommand, _ server: RemoteServer) {
    let (authority, base) = (server.endpoint.authority, server.endpoint.path)
    let isInHost = server.isBucketInHost
    let host = isInHost ? "\(server.bucket).\(authority)" : authority
    let bucket = isInHost ? base : "\(base)/\(S3Text.encoded(server.bucket))"
    func call(_ method: String, _ key: String) -> S3Call {
      let path = "\(bucket)/\(S3Text.encoded(key, keepingSlashes: true))"
      return S3Call(method: method, host: host, path: path)
    }
    switch command {
    case .begin: self = call("HEAD", "")
    case .save(let key, let condition, let digest):
      self = call("PUT", key)
      self.digest = digest
      headers = [
        S3Header("content-type", "application/octet-stream"),
        S3Header(S3Field.digest, Hexadecimal.text(digest)),
      ]
      switch condition {
      case .any: break
      case .absent: headers.append(S3Header("if-none-match", "*"))
      case .same(let version): headers.append(S3Header("if-match", version.text))
      }
    case .load(let key, let range, let known):
      self = call("GET", key)
      if let range {
        headers.append(S3Header("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
      }
      if let known { headers.append(S3Header("if-none-match", known.text)) }
    case .stat(let key): self = call("HEAD", key)
    case .list(let prefix, let part):
      self = S3Call(method: "GET", host: host, path: "\(bucket)/")
      query = [("list-type", "2"), ("max-keys", "\(ObjectPage.limit)"), ("prefix", prefix)]
      if let part { query.append(("continuation-token", part)) }
    case .remove(let key): self = call("DELETE", key)
    }
  }

  /// The address of the request.
  package func url(_ endpoint: S3Endpoint) -> String {
    "\(endpoint.scheme)://\(host)\(path)" + (query.isEmpty ? "" : "?\(queryText)")
  }
}

extension RemoteReply {
  /// Of `bytes 0-9/1234`.
  private static func range(_ text: some StringProtocol) -> Range<Int64>? {
    guard text.hasPrefix("bytes "), let slash = text.firstIndex(of: "/") else { return nil }
    let ends = text[..<slash].dropFirst(6).split(separator: "-").map { RemoteReply.size($0) }
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < .max
    else { return nil }
    return first..<last + 1
  }

  /// Takes what a line of a response's head says, `name: value`. The first line of a response is its status,
  /// and there may have been others before.
  package mutating func take(line: [UInt8], date: (String) -> Int64?) {
    let text = String(decoding: line, as: UTF8.self)
    if text.hasPrefix("HTTP/") {
      self = RemoteReply()
      return
    }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
    let value = text[text.index(after: colon)...].filter { !$0.isNewline }.drop { $0 == " " }
    switch text[..<colon].lowercased() {
    case S3Field.tag: version = ObjectVersion(String(value))
    case S3Field.range:
      size = value.split(separator: "/").last.flatMap(RemoteReply.size)
      range = RemoteReply.range(value)
    case S3Field.digest: digest = Hexadecimal.bytes(value)
    case S3Field.date: self.date = date(String(value))
    case "content-length" where size == nil: size = RemoteReply.size(value)
    default: break
    }
  }
}
