import AlbumSecrets
import ObjectStores
import Testing

/// Requests are signed as Amazon's documentation shows it ("Signature Calculations for the Authorization
/// Header", examples of S3).
@Suite struct S3SignatureTests {
  private static let credentials = S3Credentials(
    accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    sessionToken: nil)

  /// 2013-05-24 00:00:00 UTC.
  private static let time: Int64 = 1_369_353_600

  private func signature(_ call: S3Call) throws -> (text: String, headers: [S3Header]) {
    let signature = S3Signature(
      try #require(Self.credentials), region: "us-east-1", seconds: Self.time)
    let headers = signature.headers(of: call)
    let text = try #require(headers.last { $0.name == "authorization" }).value
    #expect(
      text.hasPrefix(
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"))
    #expect(headers.contains(S3Header("x-amz-date", "20130524T000000Z")))
    return (String(text.suffix(64)), headers)
  }

  private static let host = "examplebucket.s3.amazonaws.com"

  @Test func aRangeOfAnObject() throws {
    var call = S3Call(method: "GET", host: Self.host, path: "/test.txt")
    call.headers = [S3Header("range", "bytes=0-9")]
    let (text, headers) = try signature(call)
    #expect(text == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    #expect(
      headers.contains {
        $0.name == "authorization"
          && $0.value.contains("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,")
      })
  }

  @Test func anObjectWithASpecialName() throws {
    var call = S3Call(
      method: "PUT", host: Self.host, path: "/test%24file.text",
      digest: SHA256.hash(Array("Welcome to Amazon S3.".utf8)))
    call.headers = [
      S3Header("date", "Fri, 24 May 2013 00:00:00 GMT"),
      S3Header("x-amz-storage-class", "REDUCED_REDUNDANCY"),
    ]
    let expected = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    #expect(try signature(call).text == expected)
  }

  @Test func argumentsWithAndWithoutValues() throws {
    var call = S3Call(method: "GET", host: Self.host, path: "/")
    call.query = [("lifecycle", "")]
    var expected = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    #expect(try signature(call).text == expected)
    call.query = [("prefix", "J"), ("max-keys", "2")]
    expected = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    #expect(try signature(call).text == expected)
  }

  @Test func aSessionTokenIsSigned() throws {
    let credentials = try #require(
      S3Credentials(accessKey: "a", secretKey: "b", sessionToken: "token"))
    let signature = S3Signature(credentials, region: "r", seconds: 0)
    let headers = signature.headers(of: S3Call(method: "GET", host: "h", path: "/"))
    #expect(headers.contains(S3Header("x-amz-security-token", "token")))
    #expect(headers.last?.value.contains("x-amz-date;x-amz-security-token,") ?? false)
  }

  @Test func hashesAreThoseOfTheStandards() {
    func text(_ bytes: [UInt8]) -> String {
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    // FIPS 180-4 and RFC 4231, test case 2.
    #expect(
      text(SHA256.hash(Array("abc".utf8)))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      text(
        SHA256.authenticate(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  /// What a command asks of the server.
  @Test func commandsAreRequestsOfS3() throws {
    let endpoint = try #require(S3Endpoint("https://s3.example.org:443/base/"))
    let server = RemoteServer(endpoint: endpoint, region: "r", bucket: "my.bucket")
    func url(_ command: RemoteCommand) -> String { S3Call(command, server).url(endpoint) }
    #expect(url(.stat(key: "a b/ü+1")) == "https://s3.example.org/base/my.bucket/a%20b/%C3%BC%2B1")
    #expect(
      url(.list(prefix: "a/", part: "a/b c"))
        == "https://s3.example.org/base/my.bucket/?continuation-token=a%2Fb%20c&list-type=2&max-keys=1000&prefix=a%2F"
    )
    // The bucket may be in the name of the host, which is signed, too.
    let hosted = RemoteServer(
      endpoint: endpoint, region: "r", bucket: "photos", isBucketInHost: true)
    let stat = S3Call(.stat(key: "a b"), hosted)
    #expect(stat.url(endpoint) == "https://photos.s3.example.org/base/a%20b")
    #expect(stat.host == "photos.s3.example.org")
    #expect(
      S3Call(.list(prefix: "a/", part: nil), hosted).url(endpoint)
        == "https://photos.s3.example.org/base/?list-type=2&max-keys=1000&prefix=a%2F")
    let load = S3Call(.load(key: "k", 5..<10, unless: ObjectVersion("\"e\"")), server)
    #expect(load.headers == [S3Header("range", "bytes=5-9"), S3Header("if-none-match", "\"e\"")])
    let save = S3Call(.save(key: "k", .absent, digest: [0xAB]), server)
    #expect(save.method == "PUT" && save.headers.contains(S3Header("if-none-match", "*")))
    #expect(save.headers.contains(S3Header("x-amz-meta-sha256", "ab")))
  }
}
