internal import AlbumModel
internal import AlbumSecrets
internal import Posix

/// A field of a request's head. Names are in lower case.
package struct S3Header: Equatable, Sendable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

/// One request as it is signed.
package struct S3Call: Sendable {
  package var method: String
  package var host: String
  /// Percent-encoded.
  package var path: String
  /// Not encoded.
  package var query: [(name: String, value: String)] = []
  package var headers: [S3Header] = []
  /// SHA-256 of the body.
  package var digest: [UInt8]

  package init(method: String, host: String, path: String, digest: [UInt8] = SHA256.hash([])) {
    (self.method, self.host, self.path, self.digest) = (method, host, path, digest)
  }

  /// The arguments in the order of their names, encoded.
  package var queryText: String {
    query.map { (S3Text.encoded($0.name), S3Text.encoded($0.value)) }.sorted { $0 < $1 }
      .map { "\($0)=\($1)" }.joined(separator: "&")
  }
}

/// Signs requests: AWS Signature Version 4, as S3 has it. All of the head is signed but what libcurl adds.
package struct S3Signature {
  private let credentials: S3Credentials
  private let region: String
  /// `20130524T000000Z`.
  private let time: String
  private static let algorithm = "AWS4-HMAC-SHA256"

  /// `seconds` count from 1970, on the server's clock.
  package init(_ credentials: S3Credentials, region: String, seconds: Int64) {
    self.credentials = credentials
    self.region = region
    let digits = SystemClock.utc(Timestamp(seconds: seconds)).filter { $0 != "-" && $0 != ":" }
    time = digits.prefix(15) + "Z"
  }

  private var day: String { String(time.prefix(8)) }
  private var scope: String { "\(day)/\(region)/s3/aws4_request" }

  /// The fields of the head, with those that the signature needs, and the signature itself.
  package func headers(of call: S3Call) -> [S3Header] {
    var headers = call.headers
    headers.append(S3Header("host", call.host))
    headers.append(S3Header("x-amz-content-sha256", Hexadecimal.text(call.digest)))
    headers.append(S3Header("x-amz-date", time))
    if let token = credentials.sessionToken {
      headers.append(S3Header("x-amz-security-token", token))
    }
    headers.sort { $0.name < $1.name }
    let names = headers.map(\.name).joined(separator: ";")
    let signature = Hexadecimal.text(sign(canonical(call, headers, names)))
    let authorization =
      "\(S3Signature.algorithm) Credential=\(credentials.accessKey)/\(scope),"
      + "SignedHeaders=\(names),Signature=\(signature)"
    return headers + [S3Header("authorization", authorization)]
  }

  private func canonical(_ call: S3Call, _ headers: [S3Header], _ names: String) -> String {
    let lines = headers.map { "\($0.name):\($0.value)\n" }.joined()
    return [
      call.method, call.path, call.queryText, lines, names, Hexadecimal.text(call.digest),
    ].joined(separator: "\n")
  }

  private func sign(_ canonical: String) -> [UInt8] {
    let digest = Hexadecimal.text(SHA256.hash(Array(canonical.utf8)))
    let text = "\(S3Signature.algorithm)\n\(time)\n\(scope)\n\(digest)"
    var key = Array("AWS4\(credentials.secretKey)".utf8)
    for part in [day, region, "s3", "aws4_request", text] {
      key = SHA256.authenticate(Array(part.utf8), key: key)
    }
    return key
  }
}
