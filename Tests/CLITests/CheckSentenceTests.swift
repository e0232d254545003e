import AlbumCheck
import AlbumModel
import ArgumentParser
import ControlProtocol
import Posix
import Testing

@testable import albumfs

/// The sentences of a check name the file, the bytes and the segment.
struct CheckSentenceTests {
  @Test func anUnreadableStretchIsNamedByPathBytesAndSegment() {
    var finding = CheckFinding(
      .damage, .unreadableContent, path: "Trip/Photo/IMG_1.jpg", ranges: [65_536..<131_072],
      segments: ["segments/3f/3f9a0b1c2d"], .unreadable(isThumbnail: false, missing: []))
    #expect(
      finding.sentence
        == "Trip/Photo/IMG_1.jpg: bytes 65536-131071 cannot be read (segment 3f9a0b1c… is damaged)")
    finding.detail = .unreadable(isThumbnail: false, missing: ["segments/3f/3f9a0b1c2d"])
    #expect(finding.sentence.hasSuffix("(segment 3f9a0b1c… is not there)"))
  }

  @Test func whatIsLeftOutIsNamedWithSinceWhen() {
    let since = StoreTime(milliseconds: 1_700_000_000_000)
    let finding = CheckFinding(
      .note, .formerContent, path: "Trip/Photo/IMG_1.jpg", since: since, .shownAsBefore)
    let time = SystemClock.localTime(seconds: since.seconds)
    #expect(finding.sentence.hasSuffix("(left out: what was written since \(time))"))
    let other = CheckFinding(.note, .formerContent, path: "a", .shownAsBefore)
    #expect(!other.sentence.contains("since"))
  }

  @Test func aFailureSaysWhatToTypeIfTheCommandCanDoThat() throws {
    let store = ["store", "--password-stdin"]
    let point = ["store", "point", "--password-stdin"]
    let (mount, check) = (try Mount.parse(point), try Check.parse(store))
    let readOnly = try Mount.parse(point + ["--read-only"])
    let byKey = try Check.parse(store + ["--recovery-key"])
    let repairing = try Check.parse(store + ["--repair"])
    let password = try SpacePassword.parse(store)
    let key = try SpaceRecoveryKey.parse(store)

    func advice(_ remedy: Failure.Remedy?, _ command: any ParsableCommand) -> Substring {
      Failure(.other, "No.", remedy: remedy).sentence(for: command).dropFirst("No.".count)
    }
    for command in [mount, check, password, key] as [any ParsableCommand] {
      #expect(advice(.repair, command) == " You can repair it with albumfs check --repair.")
      #expect(advice(nil, command).isEmpty)
    }
    #expect(advice(.repair, repairing).isEmpty)
    let remote = try Mount.parse(["s3://bucket/album", "point", "--password-stdin"])
    #expect(advice(.repair, remote).hasSuffix(" --repair, with the same address of the server."))
    #expect(advice(.mountReadOnly, mount) == " You can mount it with --read-only.")
    for command in [readOnly, check, password, key] as [any ParsableCommand] {
      #expect(advice(.mountReadOnly, command).isEmpty)
    }
    for command in [mount, check, password] as [any ParsableCommand] {
      #expect(advice(.recoveryKey, command).hasSuffix(" with --recovery-key."))
    }
    for command in [byKey, key] as [any ParsableCommand] {
      #expect(advice(.recoveryKey, command).isEmpty)
    }
  }

  @Test func aRepairSaysWhereTheFileIsNow() {
    let repair = CheckRepair.unreadableZeroed(
      path: "big", byteCount: 65_536, movedTo: "Recovered/Photo/big")
    #expect(
      repair.sentence
        == "big: 65536 bytes that cannot be read are zeros now; the file is Recovered/Photo/big")
  }
}
