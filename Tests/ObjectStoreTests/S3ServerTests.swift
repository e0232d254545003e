import AlbumModel
import AlbumTestSupport
import Foundation
import ObjectStores
import Posix
import Testing

/// A real server, and networks and users that fail in front of it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct S3ServerTests {
  /// Each fault in front of each verb: the result is the same as without.
  @Test(arguments: ["503", "lost", "reset", "cut"])
  func aFaultOfTheNetworkChangesNoResult(fault: String) throws {
    let server = try ObjectServer.shared()
    let network = try FaultyNetwork(to: server)
    let store = try server.store(server.makeBucket(), authority: network.authority)
    let bytes = [UInt8](repeating: 7, count: 300_000)
    try network.expect(["PUT \(fault)"])
    let version = try store.save("keys", bytes, .absent)
    try network.expect(["HEAD \(fault)"])
    #expect(try store.stat("keys")?.version == version)
    try network.expect(["GET \(fault)"])
    #expect(try store.load("keys") == bytes)
    try network.expect(["GET \(fault)"])
    #expect(try store.load("keys", 1000..<200_000, unless: nil)?.bytes.count == 199_000)
    try network.expect(["PUT \(fault)"])
    let next = try store.save("keys", bytes + [1], .same(version))
    #expect(next != version)
    try network.expect(["GET \(fault)"])
    #expect(try store.listAll("").map(\.name) == ["keys"])
    try network.expect(["DELETE \(fault)"])
    try store.remove("keys")
    #expect(try store.stat("keys") == nil)
  }

  /// Requests that arrive twice do not make a good server look like a bad one.
  @Test func whatArrivesTwiceAccusesNoServer() throws {
    let server = try ObjectServer.shared()
    let network = try FaultyNetwork(to: server)
    let store = try server.store(server.makeBucket(), authority: network.authority)
    for faults in [["PUT twice"], [String](repeating: "PUT twice", count: 6), ["DELETE twice"]] {
      try network.expect(faults)
      let properties = try store.probeConditions()
      #expect(properties.createsIfAbsent && properties.replacesIfSame && properties.listsAtOnce)
      #expect(try store.listAll("").isEmpty)
    }
  }

  /// While a request is tried again, it is known why; and no more when the server has replied.
  @Test func whatKeepsARequestWaitingIsKnown() throws {
    let server = try ObjectServer.shared()
    let network = try FaultyNetwork(to: server)
    let notices = Mutex([ObjectError.Hindrance?](), rank: .test)
    var options = S3StoreOptions()
    options.notice = { reason in notices.withLock { $0.append(reason) } }
    let store = try server.store(
      server.makeBucket(), authority: network.authority, options: options)
    try network.expect(["PUT reset", "PUT 503"])
    try store.save("keys", [1], .absent)
    let all = notices.withLock { $0 }
    #expect(all.first == .some(.cut) && all.contains(.status(503)) && all.last == .some(nil))
  }

  /// A connection that hangs is given up, and the request is made again.
  @Test func aHangingConnectionIsGivenUp() throws {
    let server = try ObjectServer.shared()
    let network = try FaultyNetwork(to: server)
    var options = S3StoreOptions()
    options.stallSeconds = 1
    let store = try server.store(
      server.makeBucket(), authority: network.authority, options: options)
    try network.expect(["PUT hold", "GET hold"])
    try store.save("keys", [1, 2], .absent)
    #expect(try store.load("keys") == [1, 2])
  }

  @Test func refusalsAreNamed() throws {
    let server = try ObjectServer.shared()
    let bucket = try server.makeBucket()
    let stranger = try server.store(bucket, secretKey: "wrong")
    #expect(throws: ObjectError.refused(.credentials("SignatureDoesNotMatch"))) {
      try stranger.load("keys")
    }
    #expect(throws: ObjectError.refused(.noBucket)) {
      try server.store("no-such-bucket").load("keys")
    }
    var options = S3StoreOptions()
    options.patience = .zero
    let nobody = try server.store(bucket, authority: "127.0.0.1:1", options: options)
    #expect(throws: ObjectError.unreachable(.noConnection)) { try nobody.load("keys") }
    // The second attempt of the same program says the same as the first one.
    options.patience = .milliseconds(200)
    let nowhere = try server.store(bucket, authority: "nowhere.invalid", options: options)
    #expect(throws: ObjectError.unreachable(.unresolved)) { try nowhere.load("keys") }
  }

  /// The clock of this machine is hours ahead or behind: the server's counts.
  @Test(arguments: [-7200, 7200]) func aWrongClockDoesNoHarm(seconds: Int64) throws {
    let server = try ObjectServer.shared()
    var options = S3StoreOptions()
    options.clock = { SystemClock.wall().seconds + seconds }
    let store = try server.store(server.makeBucket(), options: options)
    try store.save("keys", [1], .absent)
    #expect(try store.load("keys") == [1])
  }

  /// The program that speaks to servers is killed: the request is made again by another one.
  @Test func aKilledProgramIsReplaced() throws {
    let server = try ObjectServer.shared()
    let killed = Mutex(0, rank: .test)
    let credentials = S3Credentials(
      accessKey: ObjectServer.accessKey, secretKey: ObjectServer.secretKey, sessionToken: nil)!
    let store = S3Store(
      S3Place("s3://\(try server.makeBucket())")!,
      endpoint: S3Endpoint("http://\(server.authority)")!,
      region: "us-east-1", credentials: { _ in credentials },
      lane: { () throws(LaneFault) in
        let program = killed.withLock { number in
          number += 1
          return number < 3 ? "/bin/false" : Command.builtPath("albumfs-remote")
        }
        return try RemoteProcess(program: program)
      })
    try store.save("keys", [1], .absent)
    #expect(try store.load("keys") == [1] && killed.withLock { $0 } == 3)
  }

  /// Programs that have ended since they were used last say nothing of the server, however many they are.
  @Test func programsThatEndedMeanwhileCostNoTime() throws {
    let server = try ObjectServer.shared()
    let lives = Lives()
    let credentials = S3Credentials(
      accessKey: ObjectServer.accessKey, secretKey: ObjectServer.secretKey, sessionToken: nil)!
    var options = S3StoreOptions()
    options.patience = .seconds(5)
    options.connections = Lives.count
    let store = S3Store(
      S3Place("s3://\(try server.makeBucket())")!,
      endpoint: S3Endpoint("http://\(server.authority)")!, region: "us-east-1", options: options,
      credentials: { _ in credentials },
      lane: { () throws(LaneFault) in try MortalLane(lives) })
    inLanes(Lives.count, Array(0..<Lives.count)) { number in
      do throws(ObjectError) { try store.save("segments/\(number)", [1], .any) } catch {
        Issue.record("\(error)")
      }
    }
    lives.end()
    #expect(try store.load("segments/3") == [1])
  }

  /// A program that ends in the middle of a large body is an error of that request, and no signal for this
  /// process.
  @Test func aProgramThatEndsIsAnErrorOfTheRequest() throws {
    let lane = try RemoteProcess(program: "/bin/false")
    let request = RemoteRequest(.save(key: "k", .any, digest: [1]), time: 0)
    #expect(throws: LaneFault.broken) {
      try lane.exchange(request, [UInt8](repeating: 1, count: 4 << 20)) { false }
    }
  }

  @Test func aMissingProgramIsNamed() throws {
    let lanes: [(String?, ObjectError.ProgramFault)] = [
      (nil, .missing), ("/no/such/program", .start(.noEntry)),
    ]
    for (program, fault) in lanes {
      let store = S3Store(
        S3Place("s3://b")!, endpoint: S3Endpoint("http://127.0.0.1:1")!, region: "r",
        credentials: { _ in S3Credentials(accessKey: "a", secretKey: "s", sessionToken: nil)! },
        lane: { () throws(LaneFault) in try RemoteProcess(program: program) })
      #expect(throws: ObjectError.program(fault)) { try store.load("keys") }
    }
  }

  /// A name with characters that mean something in addresses and in XML is one name all the way.
  @Test func everyPrefixIsAPrefix() throws {
    let server = try ObjectServer.shared()
    let bucket = try server.makeBucket()
    for prefix in ["a b", "ü", "x&y<z>", "100%", "a+b", "'q'", "s/u/b"] {
      let credentials = S3Credentials(
        accessKey: ObjectServer.accessKey, secretKey: ObjectServer.secretKey, sessionToken: nil)!
      let store = S3Store(
        try #require(S3Place("s3://\(bucket)/\(prefix)")),
        endpoint: S3Endpoint("http://\(server.authority)")!, region: "us-east-1",
        credentials: { _ in credentials },
        lane: { () throws(LaneFault) in
          try RemoteProcess(program: Command.builtPath("albumfs-remote"))
        })
      try store.save("keys", Array(prefix.utf8), .absent)
      #expect(try store.load("keys") == Array(prefix.utf8))
      #expect(try store.listAll("").map(\.name) == ["keys"], "\(prefix)")
    }
  }
}

/// The first programs work when there are as many as may be, and end at once.
private final class Lives: Sendable {
  static let count = 12
  private let state = Monitor((made: 0, haveEnded: false), rank: .test)

  func begin() {
    state.withLock { $0.made += 1 }
    state.notifyAll()
  }

  /// Returns false if they have ended.
  func waitForAll() -> Bool { state.waiting { $0.made >= Lives.count ? !$0.haveEnded : nil } }
  func end() { state.withLock { $0.haveEnded = true } }
  var haveEnded: Bool { state.withLock { $0.haveEnded } }
}

private final class MortalLane: RemoteLane {
  private let lives: Lives
  private let isOfTheFirst: Bool
  private let process: RemoteProcess

  init(_ lives: Lives) throws(LaneFault) {
    self.lives = lives
    isOfTheFirst = !lives.haveEnded
    process = try RemoteProcess(program: Command.builtPath("albumfs-remote"))
    lives.begin()
  }

  func exchange(
    _ request: RemoteRequest, _ body: [UInt8], _ isStopped: () -> Bool
  ) throws(LaneFault) -> (RemoteReply, [UInt8]) {
    if isOfTheFirst, !lives.waitForAll() { throw .broken }
    return try process.exchange(request, body, isStopped)
  }
}
