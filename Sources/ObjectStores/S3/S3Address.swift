internal import AlbumModel

/// A bucket, and the part of all names in it that belongs to one store: `s3://bucket/prefix`.
package struct S3Place: Hashable, Sendable, CustomStringConvertible {
  package let bucket: String
  /// Without slashes at its ends; may be empty.
  package let prefix: String

  package static let scheme = "s3://"
  private static let bucketLimit = 255
  private static let prefixLimit = 512

  /// nil for what is no such address.
  package init?(_ text: String) {
    guard text.hasPrefix(S3Place.scheme) else { return nil }
    let parts = text.dropFirst(S3Place.scheme.count).split(
      separator: "/", omittingEmptySubsequences: false)
    let bucket = String(parts[0])
    var folders = parts.dropFirst()
    if folders.last?.isEmpty == true { folders.removeLast() }
    let isPlain: (Substring) -> Bool = { part in
      !part.isEmpty && part != "." && part != ".."
        && part.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
    let isName = bucket.utf8.allSatisfy {
      48...57 ~= $0 || 65...90 ~= $0 || 97...122 ~= $0 || "-._".utf8.contains($0)
    }
    let prefix = folders.joined(separator: "/")
    guard isName, 1...S3Place.bucketLimit ~= bucket.utf8.count, isPlain(parts[0]),
      folders.allSatisfy(isPlain), prefix.utf8.count <= S3Place.prefixLimit
    else { return nil }
    self.bucket = bucket
    self.prefix = prefix
  }

  init(bucket: String, prefix: String) { (self.bucket, self.prefix) = (bucket, prefix) }

  package var description: String {
    S3Place.scheme + bucket + (prefix.isEmpty ? "" : "/\(prefix)")
  }

  /// The key of an object of the store.
  func key(of name: String) -> String { prefix.isEmpty ? name : "\(prefix)/\(name)" }

  /// The twin of `key`; nil for a key of something else.
  func name(of key: String) -> String? {
    if prefix.isEmpty { return key }
    return key.hasPrefix("\(prefix)/") ? String(key.dropFirst(prefix.count + 1)) : nil
  }
}

/// A server that speaks S3: `https://s3.example.org:9000/path`.
package struct S3Endpoint: Hashable, Sendable {
  /// `http` or `https`.
  package let scheme: String
  /// The host, and the port if it is not the usual one: the value of the header `Host`.
  package let authority: String
  /// Comes before the bucket in each address; may be empty.
  package let path: String

  /// nil for what is no such address. Takes no user name: everybody sees the arguments of a program.
  package init?(_ text: String) {
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2,
      let scheme = ["http", "https"].first(where: { $0 == parts[0].lowercased() })
    else { return nil }
    let rest = parts[1].split(separator: "/", omittingEmptySubsequences: false)
    var authority = String(rest[0]).lowercased()
    let usual = scheme == "https" ? ":443" : ":80"
    if authority.hasSuffix(usual) { authority = String(authority.dropLast(usual.count)) }
    let folders = rest.dropFirst().filter { !$0.isEmpty }
    let isHost = authority.utf8.allSatisfy {
      48...57 ~= $0 || 97...122 ~= $0 || "-._:[]".utf8.contains($0)
    }
    guard isHost, 1...255 ~= authority.utf8.count, folders.joined().utf8.allSatisfy(S3Text.isPlain)
    else { return nil }
    self.scheme = scheme
    self.authority = authority
    path = folders.map { "/\($0)" }.joined()
  }

  package var text: String { "\(scheme)://\(authority)\(path)" }

  /// False for a server that is given by its number.
  package var hasName: Bool {
    if authority.hasPrefix("[") { return false }
    let host = authority.prefix { $0 != ":" }
    return !host.utf8.allSatisfy { 48...57 ~= $0 || $0 == UInt8(ascii: ".") }
  }

  /// False for what is no name of a region. It stands in lines and in signatures.
  package static func isRegion(_ text: String) -> Bool {
    1...64 ~= text.utf8.count
      && text.utf8.allSatisfy {
        48...57 ~= $0 || 65...90 ~= $0 || 97...122 ~= $0 || "-_".utf8.contains($0)
      }
  }

  /// The server of Amazon for a region.
  package static func amazon(_ region: String) -> S3Endpoint? {
    S3Endpoint("https://s3.\(region).amazonaws.com")
  }

  /// True if nobody between this machine and the server can read or change what they say.
  package var isPrivate: Bool { scheme == "https" || isOfThisMachine }

  private var isOfThisMachine: Bool {
    if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
    let host = authority.prefix { $0 != ":" }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return host == "localhost" || numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
  }
}

/// What signs requests. Appears in no message.
package struct S3Credentials: Equatable, Sendable, CustomStringConvertible {
  package let accessKey: String
  package let secretKey: String
  /// Of credentials that end by themselves.
  package let sessionToken: String?

  private static let limit = 8192

  /// nil if a part cannot stand in a header.
  package init?(accessKey: String, secretKey: String, sessionToken: String?) {
    let parts = [accessKey, secretKey, sessionToken ?? "-"]
    let areGood = parts.allSatisfy { part in
      1...S3Credentials.limit ~= part.utf8.count && part.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }
    if !areGood { return nil }
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
  }

  package var description: String { "S3Credentials" }
}

/// The spelling of names and numbers in requests.
enum S3Text {
  /// True for what stands for itself in an address (RFC 3986, unreserved).
  static func isPlain(_ byte: UInt8) -> Bool {
    48...57 ~= byte || 65...90 ~= byte || 97...122 ~= byte || "-._~".utf8.contains(byte)
  }

  /// Percent-encodes all but what stands for itself, and `/` on request.
  static func encoded(_ text: String, keepingSlashes: Bool = false) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isPlain(byte) || keepingSlashes && byte == UInt8(ascii: "/") {
        bytes.append(byte)
      } else {
        bytes += Array("%\(Hexadecimal.text(byte).uppercased())".utf8)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
