import ObjectStores
import Testing

/// What a server says in XML, whether it means well or not.
@Suite struct S3ResponseTests {
  @Test func aListingIsUnderstood() throws {
    let text = """
      <?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
      <IsTruncated>true</IsTruncated><NextContinuationToken>1&amp;=</NextContinuationToken>
      <Contents><Key>a &amp; b/&#x41;&#66;</Key><Size>12</Size>
      <ETag>&quot;e1&quot;</ETag></Contents><Contents><Key>c</Key><Size>0</Size></Contents></ListBucketResult>
      """
    let page = try #require(S3Response.page(Array(text.utf8)))
    #expect(page.next == "1&=")
    #expect(S3Response.prefix(Array(text.utf8)) == nil)
    let named = text.replacing("<IsT", with: "<Name>b</Name><Prefix>a &amp; b/</Prefix><IsT")
    #expect(S3Response.prefix(Array(named.utf8)) == "a & b/")
    #expect(page.objects.map(\.name) == ["a & b/AB", "c"])
    #expect(page.objects[0].size == 12 && page.objects[0].version == ObjectVersion("\"e1\""))
  }

  @Test func anErrorIsAWord() {
    let code = { (text: String) in S3Response.errorCode(Array(text.utf8)) }
    #expect(code("<Error><Code>NoSuchKey</Code><Message>x</Message></Error>") == "NoSuchKey")
    for text in [
      "", "<Code>", "<Code></Code>", "<Code>\u{1B}[2J</Code>", "<Code>a b</Code>",
      "<Code>" + String(repeating: "x", count: 65) + "</Code>",
    ] {
      #expect(code(text) == nil, "\(text)")
    }
  }

  @Test(arguments: [
    "", "<IsTruncated>", "<IsTruncated>true</IsTruncated>", "<IsTruncated>perhaps</IsTruncated>",
    "<IsTruncated>true</IsTruncated><NextContinuationToken></NextContinuationToken>",
    "<IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents>",
    "<IsTruncated>false</IsTruncated><Contents><Key>a</Key><Size>-1</Size></Contents>",
    "<IsTruncated>false</IsTruncated><Contents><Key>a</Key><Size>99999999999999999999</Size></Contents>",
    "<IsTruncated>false</IsTruncated><Contents><Key>a&#10;b</Key><Size>1</Size></Contents>",
    "<IsTruncated>false</IsTruncated><Contents><Key>a&b;</Key><Size>1</Size></Contents>",
  ])
  func whatIsNoListingIsRefused(text: String) { #expect(S3Response.page(Array(text.utf8)) == nil) }

  /// Random damage to a listing ends in a listing or in none, and never traps.
  @Test func damageNeverTraps() {
    let text =
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      + "<Contents><Key>a&#x41;&amp;</Key><Size>5</Size></Contents>"
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      var bytes = Array(text.utf8)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: .min ... .max)
      }
      for object in S3Response.page(bytes)?.objects ?? [] { #expect(object.size >= 0) }
    }
  }

  /// What the head of a response says. Each response begins anew.
  @Test func aHeadIsUnderstood() {
    var reply = RemoteReply()
    let lines = [
      "HTTP/1.1 100 Continue\r\n", "ETag: \"old\"\r\n", "HTTP/1.1 206 Partial Content\r\n",
      "etag: \"new\"\r\n", "Content-Range: bytes 0-9/1234\r\n", "Content-Length: 10\r\n",
      "X-Amz-Meta-Sha256: 0aff\r\n", "Date: now\r\n", "nonsense\r\n", "\r\n",
    ]
    for line in lines { reply.take(line: Array(line.utf8)) { $0 == "now" ? 77 : nil } }
    #expect(reply.version == ObjectVersion("\"new\"") && reply.size == 1234)
    #expect(reply.digest == [0x0A, 0xFF] && reply.date == 77 && reply.range == 0..<10)
  }

  /// A server says whatever it likes.
  @Test(arguments: [
    "Content-Range: bytes 0-9/-5", "Content-Length: -1", "Content-Range: /",
    "Content-Range: bytes 9-0/x", "Content-Range: bytes 0-9223372036854775807/*",
  ])
  func noSizeIsNegative(_ line: String) {
    var reply = RemoteReply()
    reply.take(line: Array(line.utf8)) { _ in nil }
    #expect(reply.size == nil && reply.range ?? 0..<10 == 0..<10)
    #expect(RemoteReply(Array("status 200\nsize -5\n".utf8))?.size == nil)
  }
}
