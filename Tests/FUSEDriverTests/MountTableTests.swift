import FUSEDriver
import Testing

@Suite struct MountTableTests {
  @Test func tellsDeviceTypeAndPlacesWithSpaces() {
    let text = """
      22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw
      41 22 0:52 / /home/a\\040b/mnt rw,nosuid,nodev - fuse.albumfs /home/a\\134b rw,user_id=0
      broken line

      """
    let table = MountTable.parse(Array(text.utf8))
    #expect(table.count == 2)
    #expect(table[0].mountPoint == "/")
    #expect(table[1].device == "0:52")
    #expect(table[1].mountPoint == "/home/a b/mnt")
    #expect(table[1].source == "/home/a\\b")
    #expect(table[1].type == MountTable.type)
  }

  @Test func findsTheRootOfThisMachine() {
    #expect(MountTable.entry(at: "/") != nil)
    #expect(MountTable.entry(at: "/nowhere at all") == nil)
  }
}
