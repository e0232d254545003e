import Posix
import Testing

/// The kernel's table alone shows in which mount a path lies, whatever the table contains.
@Suite struct MountTableTests {
  static let lines = #"""
    22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
    30 22 0:44 / /home/ann/Album rw,nosuid,nodev - fuse.albumfs /home/ann/Album.store rw,user_id=1000,group_id=1000
    31 22 0:45 / /mnt/two\040words\134and\011tab ro,nosuid shared:7 master:2 - fuse.albumfs /s\040t ro,user_id=0,group_id=0
    32 30 0:46 / /home/ann/Album/inner rw - tmpfs tmpfs rw
    33 22 0:47 / /home/ann/Album rw - fuse.albumfs /home/ann/second rw,user_id=1000
    """#
  let table = MountTable(text: Array(lines.utf8))

  private func space(holding path: String) -> MountEntry? {
    table.mount(ofType: "fuse.albumfs", holding: path)
  }

  @Test func escapesAreDecodedAndOptionalFieldsSkipped() throws {
    let mount = try #require(table.mount(at: "/mnt/two words\\and\ttab"))
    #expect(mount.source == "/s t")
    #expect(mount.device == DeviceNumber(major: 0, minor: 45))
    #expect(mount.readOnly)
    #expect(mount.user == 0)
  }

  @Test func aPathBelongsToTheMountWithTheLongestMountPoint() {
    #expect(space(holding: "/home/ann/Album/Trip/Photo")?.source == "/home/ann/second")
    #expect(space(holding: "/home/ann/Album")?.source == "/home/ann/second")
  }

  @Test func anotherFileSystemMountedInTheSpaceIsNotTheSpace() {
    #expect(space(holding: "/home/ann/Album/inner/x") == nil)
  }

  @Test func aNameThatOnlyBeginsLikeTheMountPointIsOutside() {
    #expect(space(holding: "/home/ann/Album2") == nil)
    #expect(space(holding: "/home/ann") == nil)
    #expect(space(holding: "/") == nil)
  }

  @Test func onlySpacesOfAlbumfsAreListed() {
    #expect(
      table.mounts(ofType: "fuse.albumfs").map(\.source) == [
        "/home/ann/Album.store", "/s t", "/home/ann/second",
      ])
  }

  @Test func brokenLinesAreSkipped() {
    #expect(MountTable(text: Array("nonsense\n1 2 3\n\n".utf8)).mounts.isEmpty)
    #expect(MountTable(text: []).mounts.isEmpty)
  }

  @Test func theRealTableIsReadable() throws {
    let table = try MountTable.current()
    #expect(table.mount(at: "/") != nil)
    #expect(table.mount(at: "/nowhere at all") == nil)
  }
}
