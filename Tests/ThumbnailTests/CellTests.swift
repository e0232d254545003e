import AlbumTestSupport
import Foundation
import Testing
import ThumbnailProtocol
import Thumbnails

/// The process that decodes can do nothing else, and one that goes wrong ends alone.
@Suite(.serialized)
struct CellTests {
  @Test("In the cell, opening a file, making a socket, forking and executing fail")
  func probe() throws {
    let worker = try TestWorker()
    let found = try #require(try worker.probe())
    let refused = UInt32(EPERM)
    #expect(
      found
        == ProbeReport(
          open: refused, socket: refused, fork: refused, execute: refused,
          executableMemory: refused))
    #expect(worker.report.hasSeccomp)
    #expect(worker.report.readable == Set(ImageKind.allCases))
  }

  @Test("The cell still holds after pictures were decoded in it")
  func probeAfterWork() throws {
    let worker = try TestWorker()
    for format in ["jpg", "heic", "jxl"] {
      _ = try worker.thumbnail(of: TestPictures.encode(TestPictures.pixels(), as: format))
    }
    let found = try #require(try worker.probe())
    #expect(found.open == UInt32(EPERM) && found.fork == UInt32(EPERM))
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
    #expect(try Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/environ")).isEmpty)
  }

  @Test("A worker ends when its owner lets go of it")
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
    "A worker that crashes or talks nonsense is noticed",
    arguments: [
      "crash", "hungry", "babble", "overlong",
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

/// JPEG data that makes a worker started with `--allow-misbehaviour` misbehave.
enum Misbehaving {
  static func picture(_ word: String) -> [UInt8] {
    [0xff, 0xd8, 0xff, 0xe0] + Array("albumfs-test:\(word)".utf8)
      + [UInt8](repeating: 0, count: 100)
  }
}
