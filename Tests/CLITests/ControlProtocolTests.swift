import AlbumTestSupport
import ControlProtocol
import Glibc
import Posix
import Testing

import struct Synchronization.Atomic

/// Commands and the daemon communicate over a socket in the user's runtime directory, named after the mount's
/// device: requests, replies, progress, refusals, and the end of a connection.
@Suite(.timeLimit(.minutes(30))) struct ControlProtocolTests {
  /// The next device number that no mount has: the kernel uses majors of 12 bits only.
  private static let nextMinor = Atomic<UInt32>(0)
  private func mount(user: UInt32 = getuid()) -> MountEntry {
    let minor = Self.nextMinor.add(1, ordering: .relaxed).newValue
    return MountEntry(
      device: DeviceNumber(major: 5000 + UInt32(getpid()), minor: minor), mountPoint: "/nowhere",
      source: "/store", type: "fuse.albumfs", readOnly: false, user: user)
  }

  @Test func aQuestionGetsItsAnswer() throws {
    let mount = mount()
    let server = try ControlServer(device: mount.device) { request, _ in
      request == .tidy(album: "Trip")
        ? .done(ControlSummary(count: 3, notes: ["a"])) : .progress(pending: 0)
    }
    defer { server.close() }
    let client = try ControlClient(mount)
    #expect(client.daemon.pid == getpid())
    #expect(client.daemon.user == getuid())
    let reply = try client.ask(.tidy(album: "Trip"))
    #expect(reply == .done(ControlSummary(count: 3, notes: ["a"])))
  }

  @Test func progressComesBeforeTheAnswer() throws {
    let mount = mount()
    let server = try ControlServer(device: mount.device) { _, progress in
      for pending in [2, 1] { _ = progress(.progress(pending: pending)) }
      return .done(ControlSummary())
    }
    defer { server.close() }
    var seen: [Int] = []
    let client = try ControlClient(mount)
    let reply = try client.ask(.sync(timeoutSeconds: 1.5)) { seen.append($0) }
    #expect(reply == .done(ControlSummary()))
    #expect(seen == [2, 1])
  }

  /// The mount table does not show the store.
  @Test func theDaemonNamesItsStore() throws {
    let mount = mount()
    #expect(ControlClient.store(of: mount) == nil)
    let server = try ControlServer(device: mount.device) { request, _ in
      request == .describe ? .description(MountDescription(store: "/its/store")) : .ended(nil)
    }
    defer { server.close() }
    #expect(ControlClient.store(of: mount) == "/its/store")
  }

  @Test func aDaemonOfAnEarlierReleaseMountedWithItsStoreAsSource() throws {
    for (source, store) in [("/store", "/store"), ("albumfs", nil)] {
      var mount = mount()
      mount.source = source
      let server = try ControlServer(device: mount.device) { _, _ in
        .failed(Failure(.unsupported, "This request is unknown."))
      }
      defer { server.close() }
      #expect(ControlClient.store(of: mount) == store)
    }
  }

  @Test func aMissingDaemonIsReported() {
    #expect(throws: Failure.self) { _ = try ControlClient(mount()).daemon }
    #expect(ControlClient.daemon(of: mount()) == nil)
  }

  @Test(.enabled(if: getuid() != 0, "root's answers are always believed"))
  func aDaemonOfSomebodyElseIsNotBelieved() throws {
    let mount = mount(user: getuid() + 1)
    let server = try ControlServer(device: mount.device) { _, _ in .done(ControlSummary()) }
    defer { server.close() }
    #expect(throws: Failure.self) { _ = try ControlClient(mount).daemon }
  }

  @Test func aClosedServerLeavesNothing() throws {
    let mount = mount()
    let runtime = Runtime()
    for _ in 0..<3 {
      let server = try ControlServer(device: mount.device, places: runtime.places) { _, _ in
        .done(ControlSummary())
      }
      #expect(runtime.sockets.count == 1)
      server.close()
      #expect(runtime.sockets == [])
      #expect(server.path == nil)
    }
  }

  /// The daemon may have been stopped, or too busy to accept anybody: then `umount` asks before it accepts.
  @Test func whoAskedBeforeTheServerClosedGetsAReply() throws {
    for _ in 0..<50 {
      let mount = mount()
      let runtime = Runtime()
      let server = try ControlServer(device: mount.device, places: runtime.places) { _, _ in
        .done(ControlSummary())
      }
      let clients = try (0..<8).map { _ in try Asking(mount, runtime.places) }
      server.close()
      server.replyToAll(until: MonotonicTime.now + .seconds(60))
      for client in clients { #expect(try client.reply() == .done(ControlSummary())) }
    }
  }

  /// A client that has sent its request and has not waited for the reply.
  private final class Asking {
    private let client: ControlClient

    init(_ mount: MountEntry, _ places: ControlPlaces) throws {
      client = try ControlClient(mount, places: places)
      try client.stream.send(ControlRequest.end)
    }

    func reply() throws -> ControlReply { try client.stream.receive(ControlReply.self) }
  }

  /// The kernel reuses the number of a mount as soon as that is gone, while its daemon may still write.
  @Test func theOwnDaemonAnswersForALaterMountOfTheSameNumber() throws {
    let mount = mount()
    let runtime = Runtime()
    let servers = try (0..<3).map { number in
      let server = try ControlServer(device: mount.device, places: runtime.places) { _, _ in
        .done(ControlSummary(count: number))
      }
      // The clock of files moves in steps, and the sockets must differ in age.
      let made = SystemClock.fileTime()
      #expect(eventually { SystemClock.fileTime() > made })
      return server
    }
    for last in servers.indices.reversed() {
      let client = try ControlClient(mount, places: runtime.places)
      #expect(try client.ask(.tidy(album: nil)) == .done(ControlSummary(count: last)))
      servers[last].close()
    }
  }

  @Test func theSocketIsTheUsersAlone() throws {
    let runtime = Runtime()
    let server = try ControlServer(device: mount().device, places: runtime.places) { _, _ in
      .done(ControlSummary())
    }
    defer { server.close() }
    let path = try #require(server.path)
    #expect(path.hasPrefix(runtime.path + "/albumfs/"))
    #expect(permissions(runtime.path + "/albumfs") == 0o700)
    #expect(permissions(path) == 0o600)
  }

  /// An attacker was faster, with a directory that he can write to, a file, or a link to one of his.
  @Test func nobodyCanTakeTheNameThatADaemonWouldHave() throws {
    let place = TemporaryDirectory()
    let own = "\(place.path)/albumfs-\(getuid())"
    let traps: [(String, () -> Int32)] = [
      ("open to others", { unsafe mkdir(own, 0o777) | chmod(own, 0o777) }),
      (
        "a link",
        { unsafe mkdir(place.path + "/his", 0o700) | symlink(place.path + "/his", own) }
      ),
      ("a file", { close(unsafe creat(own, 0o600)) }),
    ]
    for (what, set) in traps {
      #expect(set() == 0, "\(what)")
      let places = ControlPlaces(user: getuid(), runtimes: ["/nowhere"], shared: [place.path])
      let mount = mount()
      let server = try ControlServer(device: mount.device, places: places) { _, _ in
        .done(ControlSummary(count: 7))
      }
      let path = try #require(server.path)
      #expect(!path.hasPrefix(own + "/"), "\(what)")
      // A command finds the socket all the same.
      let client = try ControlClient(mount, places: places)
      #expect(try client.ask(.status) == .done(ControlSummary(count: 7)), "\(what)")
      server.close()
      unsafe _ = rmdir(own)
      unsafe _ = unlink(own)
    }
  }

  @Test func theSocketOfAKilledDaemonIsReplaced() throws {
    let mount = mount()
    let runtime = Runtime()
    // A bound socket on which no process listens, as a kill leaves it.
    let server = try ControlServer(device: mount.device, places: runtime.places) { _, _ in
      .done(ControlSummary())
    }
    let left = try #require(server.path)
    let stale = runtime.path + "/albumfs/\(mount.device).1.feed"
    #expect(unsafe rename(left, stale) == 0)
    server.close()
    #expect(throws: Failure.self) {
      _ = try ControlClient(mount, places: runtime.places).daemon
    }
    let next = try ControlServer(device: mount.device, places: runtime.places) { _, _ in
      .done(ControlSummary(count: 2))
    }
    defer { next.close() }
    let client = try ControlClient(mount, places: runtime.places)
    #expect(try client.ask(.status) == .done(ControlSummary(count: 2)))
  }

  /// A daemon has bound its socket and does not listen yet, or it was killed.
  @Test func onlyTheSocketOfAProcessThatIsGoneIsCleared() throws {
    let mount = mount()
    let runtime = Runtime()
    let server = try ControlServer(device: mount.device, places: runtime.places) { _, _ in
      .done(ControlSummary())
    }
    let path = try #require(server.path)
    let prefix = runtime.path + "/albumfs/\(mount.device)"
    let living = "\(prefix).\(getpid()).feed"
    #expect(unsafe rename(path, living) == 0)
    server.close()
    ControlClient.cleanUp(after: mount, places: runtime.places)
    #expect(unsafe access(living, F_OK) == 0)
    // No process has a number above 2^22.
    let left = "\(prefix).5000000.feed"
    #expect(unsafe rename(living, left) == 0)
    ControlClient.cleanUp(after: mount, places: runtime.places)
    #expect(unsafe access(left, F_OK) == -1)
  }

  /// The runtime directory is removed at log-out, and daemons may stay.
  @Test func aSocketThatIsTakenAwayIsMadeAnew() throws {
    let mount = mount()
    let runtime = Runtime()
    let server = try ControlServer(
      device: mount.device, places: runtime.places, lookingEvery: 0.05
    ) { _, _ in .done(ControlSummary(count: 5)) }
    defer { server.close() }
    let first = try #require(server.path)
    #expect(unsafe unlink(first) == 0)
    var path: String?
    let isNew = eventually {
      path = server.path
      return path != nil && path != first
    }
    #expect(isNew)
    let client = try ControlClient(mount, places: runtime.places)
    #expect(try client.ask(.status) == .done(ControlSummary(count: 5)))
  }

  /// sudo, cron and ssh set another XDG_RUNTIME_DIR, or none.
  @Test func aDaemonIsFoundFromAnotherEnvironment() throws {
    let mount = mount()
    let runtime = Runtime()
    let server = try ControlServer(device: mount.device, places: runtime.places) { _, _ in
      .done(ControlSummary(count: 4))
    }
    defer { server.close() }
    let elsewhere = ControlPlaces(user: getuid(), runtimes: ["/nowhere"], shared: [])
    let client = try ControlClient(mount, places: elsewhere)
    #expect(try client.ask(.status) == .done(ControlSummary(count: 4)))
  }

  @Test func aRuntimeDirectoryWithAPathThatIsTooLongIsPassedOver() throws {
    let place = TemporaryDirectory()
    let long = place.path + "/" + String(repeating: "d", count: 100)
    #expect(unsafe mkdir(long, 0o700) == 0)
    let places = ControlPlaces(user: getuid(), runtimes: [long], shared: [place.path])
    let mount = mount()
    let server = try ControlServer(device: mount.device, places: places) { _, _ in
      .done(ControlSummary())
    }
    defer { server.close() }
    #expect(try ControlClient(mount, places: places).daemon.pid == getpid())
  }

  private func permissions(_ path: String) -> UInt32 {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test func bytesThatAreNoMessageEndTheConnection() throws {
    let (one, other) = try makeSocketPair()
    let reader = MessageStream(FileDescriptor(owning: one))
    let writer = FileDescriptor(owning: other)
    try writer.writeAll([0xFF, 0xFF, 0xFF, 0x7F])
    #expect(throws: MessageStream.Problem.malformed("a message of 2147483647 bytes")) {
      _ = try reader.receive(ControlRequest.self)
    }
  }

  @Test func anotherVersionIsNamed() throws {
    let (one, other) = try makeSocketPair()
    let reader = MessageStream(FileDescriptor(owning: one))
    let writer = FileDescriptor(owning: other)
    let json = Array(#"{"version":2,"body":{"unheardOf":{}}}"#.utf8)
    try writer.writeAll([UInt8(json.count), 0, 0, 0] + json)
    #expect(throws: MessageStream.Problem.unknownVersion(2)) {
      _ = try reader.receive(ControlRequest.self)
    }
  }

  /// Sends a message whose body no release knows yet.
  private func send(_ json: String, over descriptor: borrowing FileDescriptor) throws {
    let bytes = Array(json.utf8)
    try descriptor.writeAll([UInt8(bytes.count), 0, 0, 0] + bytes)
  }

  @Test func aDaemonRefusesARequestFromTheFutureAndKeepsTheConnection() throws {
    let mount = mount()
    let server = try ControlServer(device: mount.device) { request, _ in
      request == .status ? .done(ControlSummary(count: 8)) : .done(ControlSummary())
    }
    defer { server.close() }
    let client = try ControlClient(mount)
    try client.stream.setReceiveTimeout(seconds: 60)
    for request in [
      #"{"version":1,"body":{"unheardOf":{"of":1}}}"#,
      #"{"version":1,"body":{"thumbnails":{"under":"","which":"newest"}}}"#,
      #"{"version":2,"future":7,"body":{"unheardOf":{}}}"#,
    ] {
      try send(request, over: client.stream.descriptor)
      guard case .failed(let failure) = try client.stream.receive(ControlReply.self) else {
        Issue.record("\(request) was not refused")
        continue
      }
      #expect(failure.kind == .unsupported)
      #expect(try client.ask(.status) == .done(ControlSummary(count: 8)))
    }
  }

  /// A client, and the other end of its connection, at which a test acts as the daemon.
  private struct NewerDaemon: ~Copyable {
    let client: ControlClient
    let daemon: MessageStream

    init() throws {
      let (one, other) = try makeSocketPair()
      let stream = MessageStream(FileDescriptor(owning: one))
      let far = MessageStream(FileDescriptor(owning: other))
      try stream.setReceiveTimeout(seconds: 60)
      client = ControlClient(daemon: Peer(pid: 1, user: getuid()), stream: stream)
      daemon = far
    }
  }

  @Test func aCommandPassesOverNewsThatOnlyANewerDaemonHas() throws {
    let pair = try NewerDaemon()
    let news = #"{"version":1,"interim":true,"body":{"unheardOf":{}}}"#
    try send(news, over: pair.daemon.descriptor)
    try pair.daemon.send(ControlReply.progress(pending: 4), isInterim: true)
    try send(news, over: pair.daemon.descriptor)
    try pair.daemon.send(ControlReply.done(ControlSummary(count: 9)))
    var seen: [Int] = []
    let reply = try pair.client.ask(.status) { seen.append($0) }
    #expect(reply == .done(ControlSummary(count: 9)))
    #expect(seen == [4])
  }

  @Test func aCommandSaysThatTheDaemonIsNewerAndCanGoOn() throws {
    let pair = try NewerDaemon()
    try send(#"{"version":1,"body":{"unheardOf":{}}}"#, over: pair.daemon.descriptor)
    do throws(Failure) {
      _ = try pair.client.ask(.status)
      Issue.record("an unknown answer was taken")
    } catch {
      #expect(error.kind == .unsupported)
      #expect(error.message.contains("newer version"))
    }
    try send(
      #"{"version":1,"body":{"failed":{"_0":{"kind":"eclipse","message":"Too dark.","moon":1}}}}"#,
      over: pair.daemon.descriptor)
    #expect(try pair.client.ask(.status) == .failed(Failure(.other, "Too dark.")))
  }

  @Test func theEndOfTheOtherSideIsSeen() throws {
    let (one, other) = try makeSocketPair()
    let reader = MessageStream(FileDescriptor(owning: one))
    try FileDescriptor(owning: other).close()
    try reader.waitForEnd()
    #expect(throws: MessageStream.Problem.ended) { _ = try reader.receive(ControlRequest.self) }
  }
}

/// A runtime directory for one test.
private final class Runtime: Sendable {
  private let place = TemporaryDirectory()
  var path: String { place.path }
  var places: ControlPlaces { ControlPlaces(user: getuid(), runtimes: [place.path], shared: []) }
  var sockets: [String] { (try? PosixDirectory(path: path + "/albumfs").list("")) ?? [] }
}
