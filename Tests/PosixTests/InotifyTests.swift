import AlbumModel
import Testing

@testable import Posix

/// The daemon finds what programs watch.
@Suite struct InotifyTests {
  private let device = DeviceNumber(major: 0, minor: 54)

  @Test func watchesAreFoundByTheirDisk() {
    let text = """
      pos:\t0
      flags:\t02004000
      mnt_id:\t15
      inotify wd:3 ino:1f sdev:36 mask:2000fce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:1f00
      inotify wd:2 ino:1f sdev:800013 mask:800afce ignored_mask:0
      inotify wd:1 ino:ffffffffffffffff sdev:36 mask:2000fce
      """
    #expect(InotifyWatches.inodes(in: text, on: device) == [InodeNumber(0x1F), InodeNumber(.max)])
  }

  @Test func linesThatAreNoWatchesCountAsNone() {
    for text in ["", "inotify", "inotify wd:1", "inotify ino:x sdev:36", "fanotify ino:1f sdev:36"]
    {
      #expect(InotifyWatches.inodes(in: text, on: device) == [])
    }
  }
}
