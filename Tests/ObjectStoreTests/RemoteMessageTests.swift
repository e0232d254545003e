import ObjectStores
import Testing

/// What albumfs-remote and its caller write is what the other side reads; anything else ends the conversation.
@Suite struct RemoteMessageTests {
  private static let commands: [RemoteCommand] = [
    .begin(
      RemoteServer(endpoint: S3Endpoint("https://h:1/p")!, region: "r", bucket: "b"),
      S3Credentials(accessKey: "a", secretKey: "s/+=", sessionToken: "t")!),
    .begin(
      RemoteServer(
        endpoint: S3Endpoint("http://h")!, region: "r", bucket: "b", isBucketInHost: true,
        stallSeconds: 3),
      S3Credentials(accessKey: "a", secretKey: "s", sessionToken: nil)!),
    .save(key: "a b/c", .any, digest: [1, 2]), .save(key: "k", .absent, digest: [1, 2]),
    .save(key: "k", .same(ObjectVersion("\"x y\"")), digest: [1, 2]),
    .load(key: "k", nil, unless: nil), .load(key: "k", 3..<9, unless: ObjectVersion("v")),
    .stat(key: "k"), .list(prefix: "", part: nil), .list(prefix: "p/", part: "p q"),
    .remove(key: "k"),
  ]

  @Test(arguments: commands) func aRequestIsUnderstood(command: RemoteCommand) {
    let request = RemoteRequest(command, time: 1_234_567_890)
    #expect(RemoteRequest(request.encode()) == request)
  }

  @Test func aReplyIsUnderstood() {
    var reply = RemoteReply()
    (reply.status, reply.fault, reply.code) = (403, .broken, "AccessDenied")
    (reply.version, reply.size, reply.digest) = (ObjectVersion("\"e\""), 12, [0, 255])
    (reply.date, reply.mayBeRepeated, reply.range, reply.prefix) = (5, true, 3..<9, "")
    reply.page = ObjectPage(
      objects: [ListedObject(name: "a b", size: 7, version: ObjectVersion("\"e\""))],
      next: "b c")
    #expect(RemoteReply(reply.encode()) == reply)
    #expect(RemoteReply(RemoteReply().encode()) == RemoteReply())
  }

  /// A name cannot bring a line of its own into a request.
  @Test func aLineOfItsOwnIsNoPartOfAName() {
    let request = RemoteRequest(.remove(key: "a\nverb save"), time: 1)
    #expect(RemoteRequest(request.encode()) == nil)
  }

  @Test func lengthsHaveLimits() {
    let good = RemoteFrame.lengths(head: 12, body: 64 << 20)
    #expect(RemoteFrame.lengths(good)?.head == 12 && RemoteFrame.lengths(good)?.body == 64 << 20)
    #expect(RemoteFrame.lengths([UInt8](repeating: 255, count: 12)) == nil)
    #expect(RemoteFrame.lengths([1, 2]) == nil)
  }

  /// A program that was taken over writes what it likes.
  @Test func nothingTraps() {
    var random = SystemRandomNumberGenerator()
    let replies = [
      RemoteReply().encode(), Array("status 200\nsize 5\npage more\nobject 1 v n\n".utf8),
    ]
    for _ in 0..<20_000 {
      var bytes = replies.randomElement(using: &random)!
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: .min ... .max)
      }
      _ = RemoteReply(bytes)
      _ = RemoteRequest(bytes)
    }
    for text in ["status 1000\n", "status x\n", "size 5\n", "status 1\npage last\nobject x y z\n"] {
      #expect(RemoteReply(Array(text.utf8)) == nil, "\(text)")
    }
  }
}
