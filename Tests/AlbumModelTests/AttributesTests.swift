import AlbumModel
import Testing

/// The set-id bits that a write by another user removes. The expectations are the behaviour of ext4.
@Suite struct SetIDBitsTests {
  @Test func programsLoseTheirPrivilege() {
    #expect(left(0o6777) == 0o777)
    #expect(left(0o4755) == 0o755)
    #expect(left(0o2711) == 0o711)
    #expect(left(0o7710) == 0o1710)
  }

  @Test func nothingElseChanges() {
    #expect(left(0o755) == nil)
    #expect(left(0o1777) == nil)
    #expect(left(0o2767) == nil, "set-gid without execution for the group is no privilege")
    #expect(left(0o6745) == 0o2745)
  }

  @Test func directoriesKeepTheirBits() { #expect(left(0o2775, .directory) == nil) }

  private func left(_ permissions: UInt16, _ kind: FileKind = .regular) -> UInt16? {
    let never = Timestamp(nanoseconds: 0)
    return SetIDBits.permissionsAfterChange(
      of: Attributes(
        inode: InodeNumber(2), kind: kind, permissions: permissions, links: 1, owner: 0, group: 0,
        device: 0, size: 0, blocks: 0, accessed: never, modified: never, changed: never))
  }
}

struct PictureFactsTests {
  @Test(arguments: [
    "2023-05-04T12:33:10", "2023-05-04T12:33:10+02:00", "2024-02-29T00:00:00-03:30",
    "1826-01-01T23:59:59+00:00",
  ])
  func aTimeHasOneSpelling(text: String) {
    #expect(CaptureTime(Array(text.utf8))?.text == text)
  }

  @Test(arguments: [
    "", "2023-05-04", "2023-05-04 12:33:10", "2023-05-04T12:33", "2023-05-04T24:00:00",
    "2023-02-29T12:00:00", "2023-04-31T12:00:00", "2023-00-10T12:00:00", "1799-01-01T00:00:00",
    "2023-05-04T12:33:10+24:00", "2023-05-04T12:33:10+02", "2023-05-04T12:33:10 02:00",
    "2023-05-04T12:33:10+02:00 ", "+023-05-04T12:33:10", "２023-05-04T12:33:10",
  ])
  func whatNoClockShowsIsNoTime(text: String) {
    #expect(CaptureTime(Array(text.utf8)) == nil)
  }

  @Test func dimensionsHaveOneSpelling() {
    #expect(PictureDimensions(Array("4000x3000".utf8))?.text == "4000x3000")
    for text in ["", "x", "4000", "0x1", "1x0", "04x3", "4 x3", "-4x3", "4x3x2", "1000000000x1"] {
      #expect(PictureDimensions(Array(text.utf8)) == nil, "\(text)")
    }
    #expect(Rotation(Array("270".utf8)) == .threeQuarters)
    for text in ["", "45", "360", "-90", "090", "90 "] {
      #expect(Rotation(Array(text.utf8)) == nil, "\(text)")
    }
  }
}
