import Testing

@testable import FUSEDriver

@Suite struct MountOptionsTests {
  @Test func mountIsWithoutSetIDAndDevicesUnlessAsked() throws {
    var options = MountOptions(source: "/store")
    #expect(!options.allowsSetID && !options.allowsDevices && options.allowsExecution)
    try options.add("suid,dev,noexec")
    #expect(options.allowsSetID && options.allowsDevices && !options.allowsExecution)
  }

  @Test func laterWordWins() throws {
    var options = MountOptions(source: "/store")
    try options.add("ro,noatime,rw")
    try options.add("atime,allow_other")
    #expect(!options.readOnly && options.updatesAccessTime && options.allowOther)
  }

  @Test func wordsOfAnFstabLineAreTaken() throws {
    var options = MountOptions(source: "/store")
    try options.add("defaults,noauto,user,nofail,_netdev,x-systemd.automount,comment=photos")
    #expect(options == MountOptions(source: "/store"))
  }

  /// Every user of the machine can read the mount table.
  @Test func theSourceIsAWordUnlessAsked() throws {
    var options = MountOptions()
    #expect(options.source == "albumfs")
    try options.add("noatime,fsname=photos of ann,ro")
    #expect(options.source == "photos of ann" && options.readOnly && !options.updatesAccessTime)
  }

  @Test(arguments: [
    "fsname=", "nonempty", "allow_rot", "fd=3", "ro=1", "max_read=4096", "subtype=x",
  ])
  func unknownWordIsRefusedByName(word: String) {
    var options = MountOptions(source: "/store")
    #expect(throws: MountError.unknownOption(word)) { try options.add("ro,\(word)") }
  }
}
