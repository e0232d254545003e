import AlbumModel
import AlbumTestSupport
import CLinux
import FileKinds
import Foundation
import Posix
import Testing
import ThumbnailProtocol
import Thumbnails

/// The decoding process can do nothing else, and a faulty one ends alone.
@Suite(.serialized)
struct CellTests {
  /// A cell on this kernel, on a kernel that has no Landlock or one that scopes no signals with it (before
  /// 6.12), and where user namespaces are forbidden.
  enum Kernel: CaseIterable {
    case this, withoutLandlock, withoutNamespaces
  }

  private func worker(_ kernel: Kernel) throws -> TestWorker {
    var launch = TestWorker.launch
    launch.hidesLandlock = kernel == .withoutLandlock
    launch.hidesNamespaces = kernel == .withoutNamespaces
    return try TestWorker(launch)
  }

  @Test(
    "No system call leads out of the cell: files, sockets, programs, other processes",
    arguments: Kernel.allCases)
  func probe(_ kernel: Kernel) throws {
    let worker = try worker(kernel)
    #expect(worker.report.hasSeccomp)
    #expect(worker.report.readable == ImageKind.pictures)
    let features = try KernelFeatures.shared.get()
    #expect(
      worker.report.hasLandlock == (features.landlockVersion > 0 && kernel != .withoutLandlock))
    #expect(
      worker.report.boundsThreads == (features.hasUserNamespaces && kernel != .withoutNamespaces))
    try expectSealed(#require(try worker.probe()))
  }

  @Test("The cell still holds after pictures were decoded in it")
  func probeAfterWork() throws {
    let worker = try worker(.withoutLandlock)
    for format in ["jpg", "heic", "jxl"] {
      _ = try worker.thumbnail(of: TestPictures.encode(TestPictures.pixels(), as: format))
    }
    try expectSealed(#require(try worker.probe()))
  }

  /// Expects the filter itself to refuse every call: each attempt has arguments with which the kernel would
  /// succeed, or fail with another error.
  private func expectSealed(_ found: ProbeReport) {
    #expect(found.tries.count > 90)
    for name in ["open", "socket", "fork", "execve", "kill", "tgkill", "read-memory"] {
      #expect(found.tries.contains { $0.name == name })
    }
    for one in found.tries {
      // glibc makes threads without clone3 if that is missing.
      let refused = one.name == "clone3" ? UInt32(ENOSYS) : UInt32(EPERM)
      #expect(one.error == refused, "\(one.name): \(one.error)")
    }
    #expect(found.ownSignal == 0, "abort(3) works")
  }

  /// Tests Landlock alone, without the filter, which otherwise refuses the calls first. It binds one thread,
  /// here one of the test.
  @Test("Landlock alone keeps files, ports and other processes out of reach")
  func landlock() throws {
    let version = try KernelFeatures.shared.get().landlockVersion
    if version == 0 { return }
    let readable = "/etc/passwd"
    let writable = FileManager.default.temporaryDirectory.path + "/albumfs-" + UUID().uuidString
    let sleeper = Process()
    sleeper.executableURL = URL(fileURLWithPath: "/bin/sleep")
    sleeper.arguments = ["infinity"]
    // A program that reads the output of the tests to its end does not wait for this process.
    sleeper.standardOutput = FileHandle.nullDevice
    sleeper.standardError = FileHandle.nullDevice
    try sleeper.run()
    let other = sleeper.processIdentifier
    // It may have begun with all other signals blocked, like this thread.
    defer { _ = kill(other, SIGKILL) }
    let answers = Mutex<[String: CInt]>([:], rank: .test)
    try PosixThread(name: "landlock") {
      let tries: [(String, () -> CInt)] = [
        ("read", { unsafe open(readable, O_RDONLY | O_CLOEXEC) }),
        ("make", { unsafe mkdir(writable, 0o700) }),
        ("connect", connectToPort1),
        ("signal", { kill(other, SIGCONT) }),
      ]
      func note(_ when: String) {
        for (name, attempt) in tries {
          errno = 0
          let result = attempt()
          let error = result < 0 ? errno : 0
          if name == "read", result >= 0 { close(result) }
          if name == "make", result >= 0 { unsafe rmdir(writable) }
          answers.withLock { $0["\(when) \(name)"] = error }
        }
      }
      note("before")
      let noNewPrivileges: CInt = 38
      clinux_prctl(noNewPrivileges, 1, 0)
      let result = clinux_landlock_forbid_all()
      answers.withLock { $0["itself"] = result }
      note("then")
    }.join()
    let found = answers.withLock { $0 }
    #expect(found["itself"] == 0)
    for name in ["read", "make", "signal"] { #expect(found["before \(name)"] == 0, "\(name)") }
    #expect(found["before connect"] != EACCES)
    #expect(found["then read"] == EACCES)
    #expect(found["then make"] == EACCES)
    // Later versions of Landlock refuse these too.
    if version >= 4 { #expect(found["then connect"] == EACCES) }
    if version >= 6 { #expect(found["then signal"] == EPERM) }
  }

  @Test("The kernel bounds the threads of a worker, whatever else its user runs")
  func threads() throws {
    // Without user namespaces the daemon counts the threads: see the queue's tests.
    guard try KernelFeatures.shared.get().hasUserNamespaces else { return }
    let worker = try worker(.this)
    #expect(worker.report.boundsThreads)
    let found = try #require(try worker.probe())
    if !Sanitizer.isOn { #expect((32..<128).contains(found.threads), "\(found.threads)") }
    _ = try worker.thumbnail(of: TestPictures.encode(TestPictures.pixels(), as: "avif"))
  }

  /// How the kernel shows a share: the policy of the process, its turn at the disk, and the priority of its
  /// session, which is that of the process where the policy has one.
  struct Courtesy: CustomTestStringConvertible {
    var share: ProcessorShare
    var policy: String
    var disk: String
    var session: String
    var testDescription: String { "\(share)" }
  }

  @Test(
    "A worker takes the share of processor and disk that it was given, and goes first without memory",
    arguments: [
      // SCHED_IDLE.
      Courtesy(share: .leftover, policy: "5", disk: "idle", session: "19"),
      // SCHED_BATCH.
      Courtesy(share: .small, policy: "3", disk: "best-effort: prio 7", session: "10"),
      Courtesy(share: .ordinary, policy: "0", disk: "none: prio 0", session: "0"),
    ])
  func courtesy(_ right: Courtesy) throws {
    let worker = try TestWorker(TestWorker.launch, right.share)
    let process = worker.worker.process
    let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    let fields = stat.split(separator: ")").last!.split(separator: " ")
    // Fields 41 and 19 of proc(5); the name is the second. The tests may run with a priority of their own.
    #expect(fields[41 - 3] == right.policy)
    if right.share == .small { #expect(fields[19 - 3] == right.session) }
    try expectFirstToGo(process)
    let disk = try Workshop.open { try $0.run("ionice", "-p", "\(process)") }
    if right.share != .ordinary { #expect(disk == right.disk) }
    // The kernel may be built without shares for sessions.
    let path = "/proc/\(process)/autogroup"
    if FileManager.default.fileExists(atPath: path) {
      let share = try String(contentsOfFile: path, encoding: .utf8)
      #expect(share.hasSuffix(" nice \(right.session)\n"), "\(share)")
      #expect(try share != String(contentsOfFile: "/proc/self/autogroup", encoding: .utf8))
    }
  }

  private func expectFirstToGo(_ process: pid_t) throws {
    let score = try String(contentsOfFile: "/proc/\(process)/oom_score_adj", encoding: .utf8)
    #expect(score == "1000\n")
  }

  @Test("The kernel confirms it: filter, no new privileges, no capabilities, bounds")
  func status() throws {
    let worker = try TestWorker()
    let process = worker.worker.process
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    #expect(status.contains("NoNewPrivs:\t1"))
    #expect(status.contains("Seccomp:\t2"))
    #expect(status.contains("CapEff:\t0000000000000000"))
    if geteuid() == 0 { #expect(status.contains("Uid:\t65534\t65534\t65534\t65534")) }
    guard geteuid() == 0 else { return }
    // Not even its own user may read these: it is not dumpable.
    let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
    #expect(limits.contains(#/Max open files +0 +0 /#))
    #expect(limits.contains(#/Max core file size +0 +0 /#))
    #expect(limits.contains(#/Max file size +0 +0 /#))
    if !Sanitizer.isOn {
      #expect(limits.contains(#/Max address space +2147483648 /#))
    }
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")
    #expect(descriptors.sorted() == ["0", "1", "2", "3"])
    let environment = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/environ"))
    let variables = environment.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    #expect(variables.map { $0.prefix { $0 != "=" } } == ["GLIBC_TUNABLES", "G_SLICE"])
  }

  @Test("A worker ends when its owner releases it")
  func ends() throws {
    let process: pid_t
    do {
      let worker = try TestWorker()
      process = worker.worker.process
      #expect(kill(process, 0) == 0)
    }
    #expect(kill(process, 0) == -1)
  }

  @Test(
    "A worker that crashes or sends nonsense is noticed",
    arguments: [
      "crash", "hungry", "babble", "overlong", "other-door",
    ])
  func misbehaviour(_ word: String) throws {
    if word == "hungry", Sanitizer.isOn { return }
    let worker = try TestWorker()
    #expect(throws: Worker.Failure.died) { try worker.ask(Misbehaving.picture(word)) }
  }

  @Test("Without the switch that tests give, a picture cannot ask for misbehaviour")
  func noSwitch() throws {
    var launch = TestWorker.launch
    launch.allowsMisbehaviour = false
    let worker = try TestWorker(launch)
    #expect(throws: PictureFailure.damaged) {
      try worker.thumbnail(of: Misbehaving.picture("crash"))
    }
  }
}

/// Returns 0, or -1 and errno, because nothing listens there.
private func connectToPort1() -> CInt {
  let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = in_port_t(1).bigEndian
  address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
  let length = socklen_t(MemoryLayout<sockaddr_in>.size)
  return unsafe withUnsafePointer(to: &address) {
    unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      unsafe connect(descriptor, $0, length)
    }
  }
}

/// JPEG data that makes a worker started with `--allow-misbehaviour` misbehave.
enum Misbehaving {
  static func picture(_ word: String) -> [UInt8] {
    [0xff, 0xd8, 0xff, 0xe0] + Array("albumfs-test:\(word)".utf8)
      + [UInt8](repeating: 0, count: 100)
  }
}
