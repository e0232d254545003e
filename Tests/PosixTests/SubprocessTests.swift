import AlbumTestSupport
import Glibc
import Posix
import Testing

/// Programs that albumfs starts receive what albumfs passes, and nothing else.
@Suite(.timeLimit(.minutes(30))) struct SubprocessTests {
  @Test func theEndOfAProgramAndItsReasonAreReturned() throws {
    let (code, complaint) = try Subprocess.run(["sh", "-c", "echo no room >&2; exit 7"])
    #expect(code == 7)
    #expect(complaint == "no room\n")
    #expect(try Subprocess.run(["sh", "-c", "kill -9 $$"]).code == 128 + 9)
    #expect(throws: Errno.noEntry) { try Subprocess.run(["/nowhere/program"]) }
  }

  @Test func anEnvironmentReplacesTheCallers() throws {
    let script = "echo $HOME$LC_ALL >&2"
    let plain = try Subprocess.run(["sh", "-c", script], environment: Subprocess.plainEnvironment)
    #expect(plain.complaint == "C\n")
    #expect(try Subprocess.run(["sh", "-c", script]).complaint.hasPrefix("/"))
  }

  @Test func anIsolatedProgramGetsNoOtherDescriptorAndAGroupOfItsOwn() throws {
    // A descriptor that is not closed on exec, like one with which albumfs was started.
    let leaked: CInt = 200
    #expect(dup2(STDIN_FILENO, leaked) == leaked)
    defer { close(leaked) }
    let (ours, theirs) = try makeSocketPair()
    let reading = FileDescriptor(owning: ours)
    let writing = FileDescriptor(owning: theirs)
    let script =
      "test -e /proc/$$/fd/\(leaked) && echo leaked >&3; echo $(cut -d' ' -f5 /proc/$$/stat) $$ >&3"
    let pid = try Subprocess.start(
      ["sh", "-c", script],
      [Subprocess.Redirection(3, theirs)] + (0...2).map { Subprocess.Redirection($0, -1) },
      isolated: true)
    try writing.close()
    var answer: [UInt8] = Array(repeating: 0, count: 200)
    let count = try unsafe answer.withUnsafeMutableBytes { try unsafe reading.read(into: $0) }
    #expect(try Subprocess.wait(pid) == 0)
    let words = String(decoding: answer[..<count], as: UTF8.self).split(
      whereSeparator: \.isWhitespace)
    #expect(words == ["\(pid)", "\(pid)"])
  }

  @Test func aDescriptorComesOverASocketOnlyWhereOneWasSent() throws {
    let (ours, theirs) = try makeSocketPair()
    let reading = FileDescriptor(owning: ours)
    let writing = FileDescriptor(owning: theirs)
    if let found = reading.receiveDescriptor() { Issue.record("\(found.rawValue) came") }
    try writing.writeAll([1])
    if let found = reading.receiveDescriptor() { Issue.record("\(found.rawValue) came") }
  }

  @Test func fusermountIsFoundAlongPath() throws {
    try #require(unsafe access("/usr/bin/fusermount3", X_OK) == 0)
    #expect(Subprocess.fusermount(in: "/nowhere:/usr/bin") == "/usr/bin/fusermount3")
    #expect(Subprocess.fusermount(in: "/nowhere") == nil)
    #expect(Subprocess.find("sh", in: "/nowhere:bin") == nil)
  }
}
