import AlbumCheck
import AlbumModel
import ControlProtocol
import Testing

@testable import albumfs

/// What a person reads of a check names the file, the bytes and the segment.
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

  @Test func aFailureSaysWhatToType() {
    let damaged = Failure(.damaged, "The journal is lost.", remedy: .repair)
    #expect(damaged.sentence == "The journal is lost. Repair it with albumfs check --repair.")
    #expect(Failure(.other, "No.").sentence == "No.")
  }

  @Test func aRepairSaysWhereTheFileIsNow() {
    let repair = CheckRepair.unreadableZeroed(
      path: "big", byteCount: 65_536, movedTo: "Recovered/Photo/big")
    #expect(
      repair.sentence
        == "big: 65536 bytes that cannot be read are zeros now; the file is Recovered/Photo/big")
  }
}
