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
