import Glibc
import Testing

@testable import FUSEDriver

/// Options for the kernel and fusermount3, and the messages of fusermount3.
@Suite struct MountingTests {
  @Test func kernelAlwaysChecksPermissions() {
    let options = MountOptions(source: "/store")
    #expect(
      options.kernelData(device: 7, user: 1000, group: 100)
        == "fd=7,rootmode=40000,user_id=1000,group_id=100,default_permissions,max_read=262144")
    #expect(options.kernelFlags == UInt(MS_NOSUID | MS_NODEV))
  }

  @Test func flagsAreTheKernelsOwn() throws {
    var options = MountOptions(source: "/store")
    try options.add("ro,suid,dev,noexec,sync,dirsync,noatime,nodiratime,allow_other")
    let flags =
      MS_RDONLY | MS_NOEXEC | MS_SYNCHRONOUS | MS_DIRSYNC
      | MS_NOATIME | MS_NODIRATIME
    #expect(options.kernelFlags == UInt(flags))
    #expect(options.kernelData(device: 7, user: 0, group: 0).hasSuffix(",allow_other"))
  }

  @Test func aStoreCannotPassOptionsThroughItsName() {
    let options = MountOptions(source: "/a,allow_other\\b")
    #expect(options.fusermountList.hasSuffix(",fsname=/a\\,allow_other\\\\b"))
    #expect(!options.kernelData(device: 7, user: 0, group: 0).contains("allow_other"))
  }

  @Test func fusermountsMessagesAreUnderstood() {
    #expect(
      error("option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf")
        == .allowOtherNotPermitted)
    #expect(
      error("user has no write access to mountpoint /mnt") == .mountPoint("/mnt", .notOwned))
    #expect(error("fuse device not found, try 'modprobe fuse' first") == .noDevice)
    #expect(error("something new") == .fusermountFailed("something new"))
    #expect(error("") == .fusermountFailed(""))
  }

  private func error(_ words: String) -> MountError { Fusermount.refusal(words, at: "/mnt") }
}
