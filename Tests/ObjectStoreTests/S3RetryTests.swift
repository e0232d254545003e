import AlbumTestSupport
import ObjectStores
import Posix
import Testing

/// What becomes of a request when network and server fail: it is tried again as long as that may help, and a
/// reply that was lost changes no result.
@Suite struct S3RetryTests {
  /// Plays a server from a list of replies. Records the requests.
  private final class Server: Sendable {
    enum Step {
      case reply(
        status: Int, code: String? = nil, tag: String? = nil, body: [UInt8] = [], date: Int64? = nil
      )
      /// A listing of these keys. It may say how they begin.
      case listing([String], prefix: String? = nil)
      /// A part of an object: where it begins, and the size of the whole.
      case part(from: Int64, [UInt8], of: Int64)
      /// libcurl may have sent the request twice.
      case repeated(status: Int)
      case fault(RemoteFault)
      /// The program dies.
      case death
    }

    private let steps: Mutex<[Step]>
    private let seen = Mutex([RemoteRequest](), rank: .test)

    init(_ steps: [Step]) { self.steps = Mutex(steps, rank: .test) }

    var requests: [RemoteRequest] { seen.withLock { $0 } }
    var commands: [RemoteCommand] {
      requests.map(\.command).filter { if case .begin = $0 { false } else { true } }
    }
    var isUsedUp: Bool { steps.withLock { $0.isEmpty } }

    func reply(_ request: RemoteRequest) throws(LaneFault) -> (RemoteReply, [UInt8]) {
      seen.withLock { $0.append(request) }
      var reply = RemoteReply()
      if case .begin = request.command { return (reply, []) }
      switch steps.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      case .reply(let status, let code, let tag, let body, let date)?:
        (reply.status, reply.code, reply.date) = (status, code, date)
        reply.version = tag.map { ObjectVersion($0) }
        reply.size = Int64(body.count)
        return (reply, body)
      case .part(let begin, let bytes, let size)?:
        (reply.status, reply.version, reply.size) = (206, ObjectVersion("v"), size)
        reply.range = begin..<begin + Int64(bytes.count)
        return (reply, bytes)
      case .listing(let keys, let prefix)?:
        reply.prefix = prefix
        let objects = keys.map { ListedObject(name: $0, size: 1, version: ObjectVersion("v")) }
        (reply.status, reply.page) = (200, ObjectPage(objects: objects, next: nil))
        return (reply, [])
      case .repeated(let status)?:
        (reply.status, reply.mayBeRepeated) = (status, true)
        return (reply, [])
      case .fault(let fault)?:
        reply.fault = fault
        return (reply, [])
      case .death?: throw .broken
      case nil:
        reply.status = 599
        return (reply, [])
      }
    }
  }

  private final class Lane: RemoteLane {
    let server: Server
    init(_ server: Server) { self.server = server }
    func exchange(
      _ request: RemoteRequest, _ body: [UInt8], _ isStopped: () -> Bool
    ) throws(LaneFault) -> (RemoteReply, [UInt8]) { try server.reply(request) }
  }

  private func store(
    _ server: Server, patience: Duration = .seconds(60), keys: [String] = ["first"],
    clock: Int64 = 1000, isStopped: @escaping @Sendable () -> Bool = { false }
  ) throws -> S3Store {
    var options = S3StoreOptions()
    options.patience = patience
    options.clock = { clock }
    options.isStopped = isStopped
    let place = try #require(S3Place("s3://bucket/p"))
    let endpoint = try #require(S3Endpoint("http://localhost:1"))
    let left = Mutex(keys, rank: .test)
    return S3Store(
      place, endpoint: endpoint, region: "r", options: options,
      credentials: { _ throws(ObjectError) in
        let key = left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        return S3Credentials(accessKey: key, secretKey: "s", sessionToken: nil)!
      },
      lane: { () throws(LaneFault) in Lane(server) })
  }

  @Test(arguments: [
    (RemoteFault.broken, 500), (.unreachable, 503), (.slow, 429), (.unresolved, 408),
  ])
  func whatMayPassIsTriedAgain(fault: RemoteFault, status: Int) throws {
    let server = Server([
      .fault(fault), .reply(status: status), .death, .reply(status: 200, tag: "v"),
    ])
    let store = try store(server)
    #expect(try store.save("keys", [1], .any) == ObjectVersion("v"))
    #expect(server.isUsedUp && server.commands.count == 4)
  }

  /// A listing of other objects may be the reply to another request. Whoever believed it would miss files.
  @Test func aListingOfOtherObjectsIsAskedForAgain() throws {
    let server = Server([
      .listing(["p/segments/3/a", "p/segments/3/b"]), .listing(["p/segments/2/a"]),
      .reply(status: 200), .reply(status: 404, code: "NoSuchKey"), .listing(["p/segments/2/b"]),
      .listing(["p/segments/2/c"], prefix: "p/segments/2/c"), .listing([], prefix: "p/"),
      .listing([], prefix: "p/segments/2"), .listing(["other"]), .listing(["other"]),
      .listing(["other"]), .listing(["other"]),
    ])
    let store = try store(server)
    #expect(try store.list("segments/2", part: nil).objects.map(\.name) == ["segments/2/a"])
    #expect(try store.list("segments/2", part: nil).objects.map(\.name) == ["segments/2/b"])
    #expect(try store.list("segments/2", part: nil).objects.isEmpty)
    #expect(throws: ObjectError.failed("its listing")) { try store.list("segments/2", part: nil) }
    #expect(server.isUsedUp)
  }

  /// The same with content: another part, all of an object, and what no request for content gets.
  @Test func contentOfAnotherPlaceIsAskedForAgain() throws {
    let server = Server([
      .part(from: 0, [7, 7], of: 9), .part(from: 3, [7, 7, 7], of: 9), .reply(status: 200),
      .part(from: 3, [1, 2], of: 5), .reply(status: 412), .reply(status: 200, tag: "v", body: [3]),
    ])
    let store = try store(server)
    #expect(try store.load("keys", 3..<5, unless: nil)?.bytes == [1, 2])
    #expect(try store.stat("keys")?.size == 1)
    #expect(server.isUsedUp)
    let wrong = Server((0..<4).map { _ in .reply(status: 200, tag: "v", body: [1]) })
    #expect(throws: ObjectError.failed("it sends no ranges")) {
      try self.store(wrong).load("keys", 0..<1, unless: nil)
    }
  }

  @Test func withoutPatienceTheLastReasonIsNamed() throws {
    let server = Server([.reply(status: 503), .fault(.unresolved)])
    #expect(throws: ObjectError.unreachable(.status(503))) {
      try store(server, patience: .zero).load("keys")
    }
  }

  @Test(arguments: [
    (RemoteFault.certificate, ObjectError.refused(.certificate)), (.address, .refused(.address)),
    (.confinement, .program(.confinement)),
  ])
  func whatCannotPassIsNotTriedAgain(fault: RemoteFault, error: ObjectError) throws {
    let server = Server([.fault(fault), .reply(status: 200)])
    #expect(throws: error) { try store(server).remove("keys") }
    #expect(server.commands.count == 1)
  }

  @Test(arguments: [
    (403, "AccessDenied", ObjectError.refused(.permission)),
    (404, "NoSuchBucket", .refused(.noBucket)), (301, "PermanentRedirect", .refused(.region)),
    (400, "AuthorizationHeaderMalformed", .refused(.region)), (507, "", .full),
    (403, "QuotaExceeded", .full), (418, "Teapot", .refused(.other(418, "Teapot"))),
  ])
  func aRefusalIsNamed(status: Int, code: String, error: ObjectError) throws {
    let server = Server([.reply(status: status, code: code)])
    #expect(throws: error) { try store(server).save("keys", [1], .any) }
  }

  // MARK: Lost replies

  /// The first attempt has created the object, and the second one finds it.
  @Test func aCreationWhoseReplyIsLostHasSucceeded() throws {
    let server = Server([
      .fault(.broken), .reply(status: 412), .reply(status: 200, tag: "v", body: [1, 2]),
    ])
    #expect(try store(server).save("keys", [1, 2], .absent) == ObjectVersion("v"))
  }

  /// libcurl hides a lost reply: it makes the request again by itself.
  @Test func aReplyThatLibcurlLostChangesNoResult() throws {
    let server = Server([.repeated(status: 412), .reply(status: 200, tag: "v", body: [1, 2])])
    #expect(try store(server).save("keys", [1, 2], .absent) == ObjectVersion("v"))
  }

  @Test func anObjectOfAnotherWriterIsNotTakenForOnesOwn() throws {
    let server = Server([
      .fault(.broken), .reply(status: 412), .reply(status: 200, tag: "v", body: [1, 3]),
    ])
    #expect(throws: ObjectError.exists) { try store(server).save("keys", [1, 2], .absent) }
  }

  /// Something on the way makes the request twice, and nothing shows it but what is there.
  @Test func aRequestThatArrivedTwiceHasSucceeded() throws {
    let server = Server([
      .reply(status: 412), .reply(status: 200, tag: "v", body: [1, 2]),
      .reply(status: 412), .reply(status: 200, tag: "w", body: [1, 3]),
    ])
    let store = try store(server)
    #expect(try store.save("keys", [1, 2], .absent) == ObjectVersion("v"))
    #expect(throws: ObjectError.exists) { try store.save("keys", [1, 2], .absent) }
    #expect(server.isUsedUp)
  }

  @Test func aReplacementWhoseReplyIsLostHasSucceeded() throws {
    let server = Server([
      .death, .reply(status: 412), .reply(status: 200, tag: "w", body: [1, 2]),
    ])
    let version = try store(server).save("keys", [1, 2], .same(ObjectVersion("v")))
    #expect(version == ObjectVersion("w"))
  }

  // MARK: Servers that differ

  /// Ceph compares only an ETag without quotes. That is found once and then known.
  @Test func aServerMayWantBareTags() throws {
    let server = Server([
      .reply(status: 412), .reply(status: 200, tag: "\"v\"", body: [0]),
      .reply(status: 200, tag: "\"w\""),
      .reply(status: 200, tag: "\"x\""),
    ])
    let store = try store(server)
    let second = try store.save("keys", [1], .same(ObjectVersion("\"v\"")))
    #expect(try store.save("keys", [2], .same(second)) == ObjectVersion("\"x\""))
    let conditions = server.commands.compactMap { command -> SaveCondition? in
      if case .save(_, let condition, _) = command { condition } else { nil }
    }
    #expect(
      conditions == ["\"v\"", "v", "w"].map { SaveCondition.same(ObjectVersion($0)) })
  }

  @Test func aChangedObjectIsNoMatterOfSpelling() throws {
    let server = Server([.reply(status: 412), .reply(status: 200, tag: "\"other\"", body: [0])])
    #expect(throws: ObjectError.changed) {
      try store(server).save("keys", [1], .same(ObjectVersion("\"v\"")))
    }
  }

  // MARK: Clocks and credentials

  @Test func aWrongClockIsCorrectedOnce() throws {
    let server = Server([
      .reply(status: 403, code: "RequestTimeTooSkewed", date: 5000), .reply(status: 204),
      .reply(status: 204),
    ])
    let store = try store(server, clock: 1000)
    try store.remove("keys")
    try store.remove("keys")
    let times = server.requests.filter { if case .begin = $0.command { false } else { true } }
    #expect(times.map(\.time) == [1000, 5000, 5000])
    let wrong = Server(
      (0..<2).map { _ in .reply(status: 403, code: "RequestTimeTooSkewed", date: 5000) })
    #expect(throws: ObjectError.refused(.clock)) { try self.store(wrong).remove("keys") }
  }

  /// A session token that ends in the middle is replaced by the next one, on every connection.
  @Test func expiredCredentialsAreReplaced() throws {
    let server = Server([
      .reply(status: 204), .reply(status: 403, code: "ExpiredToken"), .reply(status: 204),
    ])
    let store = try store(server, keys: ["first", "second"])
    try store.remove("keys")
    try store.remove("keys")
    let begun = server.requests.compactMap { request -> String? in
      if case .begin(_, let credentials) = request.command { credentials.accessKey } else { nil }
    }
    #expect(begun == ["first", "second"] && server.isUsedUp)
  }

  @Test func credentialsThatStayRefusedAreNamed() throws {
    let server = Server([.reply(status: 403, code: "InvalidAccessKeyId")])
    #expect(throws: ObjectError.refused(.credentials("InvalidAccessKeyId"))) {
      try store(server).remove("keys")
    }
    #expect(server.commands.count == 1)
  }

  /// The reply to a HEAD has no body that says why it was refused.
  @Test func aRefusedLookSaysWhy() throws {
    let server = Server([
      .reply(status: 403), .reply(status: 403, code: "ExpiredToken"), .reply(status: 206, tag: "v"),
      .reply(status: 200, tag: "v", body: [1, 2, 3]),
    ])
    let store = try store(server, keys: ["first", "second"])
    #expect(try store.stat("keys")?.size == 3)
    let refused = Server([.reply(status: 403), .reply(status: 403, code: "AccessDenied")])
    #expect(throws: ObjectError.refused(.permission)) { try self.store(refused).stat("keys") }
  }

  // MARK: What comes

  @Test func contentOfAnotherLengthIsLoadedAgain() throws {
    final class Short: RemoteLane {
      let count = Mutex(0, rank: .test)
      func exchange(
        _ request: RemoteRequest, _ body: [UInt8], _ isStopped: () -> Bool
      ) throws(LaneFault) -> (RemoteReply, [UInt8]) {
        var reply = RemoteReply()
        (reply.status, reply.size) = (200, 3)
        if case .begin = request.command { return (reply, []) }
        let number = count.withLock { number in
          number += 1
          return number
        }
        return (reply, number == 1 ? [1, 2] : [1, 2, 3])
      }
    }
    let lane = Short()
    let store = S3Store(
      S3Place("s3://b")!, endpoint: S3Endpoint("http://h")!, region: "r",
      credentials: { _ in S3Credentials(accessKey: "a", secretKey: "s", sessionToken: nil)! },
      lane: { () throws(LaneFault) in lane })
    #expect(try store.load("keys") == [1, 2, 3])
  }

  @Test func whoeverWantsToStopStops() throws {
    let server = Server([.reply(status: 503)])
    let store = try store(server, isStopped: { server.isUsedUp })
    #expect(throws: ObjectError.stopped) { try store.load("keys") }
  }
}
