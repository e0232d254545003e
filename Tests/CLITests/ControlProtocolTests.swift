import ControlProtocol
import Glibc
import Posix
import Testing

import struct Synchronization.Atomic

/// Commands and daemon talk over a socket named after the mount's device: asked and answered,
/// streamed, refused, and ended.
@Suite struct ControlProtocolTests {
  /// A device number that no mount has: majors of 12 bits are all there are.
  private static let nextMinor = Atomic<UInt32>(0)
  private func mount(user: UInt32 = getuid()) -> MountEntry {
    let minor = Self.nextMinor.add(1, ordering: .relaxed).newValue
    return MountEntry(
      device: DeviceNumber(major: 5000 + UInt32(getpid()), minor: minor), mountPoint: "/nowhere",
      source: "/store", type: MountTable.fileSystemType, readOnly: false, user: user)
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

  @Test func withoutADaemonThatIsSaid() {
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

  @Test func aClosedServerFreesItsNameAtOnce() throws {
    let mount = mount()
    for _ in 0..<3 {
      let server = try ControlServer(device: mount.device) { _, _ in .done(ControlSummary()) }
      server.close()
    }
  }

  @Test func twoDaemonsCannotHaveOneName() throws {
    let mount = mount()
    let server = try ControlServer(device: mount.device) { _, _ in .done(ControlSummary()) }
    defer { server.close() }
    #expect(throws: Errno(EADDRINUSE)) {
      try ControlServer(device: mount.device, patience: 0) { _, _ in .done(ControlSummary()) }
    }
  }

  @Test func whatIsNoMessageEndsTheConnection() throws {
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

  @Test func theEndOfTheOtherSideIsSeen() throws {
    let (one, other) = try makeSocketPair()
    let reader = MessageStream(FileDescriptor(owning: one))
    try FileDescriptor(owning: other).close()
    try reader.waitForEnd()
    #expect(throws: MessageStream.Problem.ended) { _ = try reader.receive(ControlRequest.self) }
  }
}
