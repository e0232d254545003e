import AlbumTestSupport
import ControlProtocol
import Testing

@testable import albumfs

/// The user's file of settings: what it may hold, and what is said of a line that means nothing.
@Suite struct UserConfigurationTests {
  private func parse(_ text: String) throws -> [UserConfiguration.Entry] {
    try UserConfiguration.parse(text, from: "config").entries
  }

  private func complaint(_ text: String) -> String? {
    do {
      _ = try UserConfiguration.parse(text, from: "config")
    } catch {
      return error.message
    }
    return nil
  }

  @Test func eachStoreHasItsMountPointAndOptions() throws {
    let entries = try parse(
      """
      # mine
      store = /nowhere/My Album.store
        mountpoint=/nowhere/My Album
      read-only = yes
      remember = no
      grace = 60
      options = noatime,noexec
      password-command = pass show 'album' # not a comment

      store = /nowhere/other
      """)
    #expect(
      entries == [
        UserConfiguration.Entry(
          store: "/nowhere/My Album.store", mountPoint: "/nowhere/My Album",
          options: [
            "--read-only", "--grace", "60", "-o", "noatime,noexec", "--password-command",
            "pass show 'album' # not a comment",
          ]),
        UserConfiguration.Entry(store: "/nowhere/other"),
      ])
  }

  @Test(arguments: [
    ("store = /a\nmountpiont = /b", ["line 2", "mountpiont", "mountpoint"]),
    ("store = /a\nread-only", ["line 2", "name = value"]),
    ("store = /a\nread-only = true", ["line 2", "yes or no", "true"]),
    ("store = /a\ngrace = soon", ["line 2", "soon", "--grace"]),
    ("store = /a\nidle = 0", ["line 2", "15m"]),
    ("store = /a\ngrace = -1", ["line 2", "--grace takes seconds, from 0 to a year"]),
    ("store = /a\nidle = 5m\ngrace = 5\nidle = 6m", ["line 4", "idle", "earlier"]),
    ("store = /a\r\n\r\nmountpiont = /b\r\n", ["line 3", "mountpiont"]),
    ("store = /a\n\n# x\ntransport = pigeon", ["line 4", "pigeon", "device"]),
    ("store = Album.store", ["line 1", "~/"]),
    ("store =", ["line 1", "no value"]),
    ("mountpoint = /b", ["line 1", "store"]),
    ("store = /a\nstore = /a", ["line 2", "earlier"]),
    ("store = /a\nmountpoint = /m\nstore = /b\nmountpoint = /m", ["line 4", "earlier"]),
    ("store = /a\nforeground = yes", ["line 2", "foreground"]),
  ])
  func aLineThatMeansNothingIsNamedWithWhatWouldBeRight(text: String, words: [String]) {
    let said = complaint(text)
    #expect(said != nil)
    for word in words + ["config"] { #expect(said?.contains(word) ?? false, "\(said ?? "")") }
  }

  @Test func filesOfOtherSystemsAreRead() throws {
    let entries = try parse(
      "\u{FEFF}store = /a\r\nmountpoint = /m\r\noptions = ro\r\noptions = noexec\r\n")
    #expect(
      entries == [
        UserConfiguration.Entry(
          store: "/a", mountPoint: "/m", options: ["-o", "ro", "-o", "noexec"])
      ])
  }

  @Test(arguments: ["mkfifo", "mkdir", "ln -s /dev/zero", "truncate -s 1048577"])
  func onlyASmallRegularFileIsRead(command: String) throws {
    let home = try ScratchDirectory()
    let config = home.path("albumfs/config")
    _ = try Command("/usr/bin/env", ["mkdir", home.path("albumfs")]).run()
    _ = try Command("/usr/bin/env", command.split(separator: " ").map(String.init) + [config]).run()
    let outcome = try TestStore.run(["mount"], environment: ["XDG_CONFIG_HOME": home.path])
    #expect(outcome.code == 1, "\(outcome)")
    #expect(outcome.errors.contains(command.hasPrefix("trunc") ? "1 MiB" : "regular file"))
  }

  @Test func aFileThatOthersMayWriteIsNotRead() throws {
    let home = try ScratchDirectory()
    let config = try home.write("config", "store = /nowhere\nmountpoint = /tmp\n")
    _ = try Command("/usr/bin/env", ["mkdir", home.path("albumfs")]).run()
    _ = try Command("/usr/bin/env", ["mv", config, home.path("albumfs/config")]).run()
    for (mode, word) in [("666", "chmod 600"), ("600", "/nowhere")] {
      _ = try Command("/usr/bin/env", ["chmod", mode, home.path("albumfs/config")]).run()
      let outcome = try TestStore.run(["mount"], environment: ["XDG_CONFIG_HOME": home.path])
      #expect(outcome.code != 0 && outcome.errors.contains(word), "\(outcome)")
    }
  }

  @Test func withoutSettingsAndTerminalNothingIsMadeUp() throws {
    let home = try ScratchDirectory()
    let environment = ["HOME": home.path, "XDG_CONFIG_HOME": ""]
    let bare = try TestStore.run(["mount"], environment: environment)
    #expect(bare.code == 1 && bare.errors.contains("config"), "\(bare)")
    let half = try TestStore.run(["mount", "/nowhere/store"], environment: environment)
    #expect(half.code == 1 && half.errors.contains("MOUNTPOINT"), "\(half)")
  }

  @Test(arguments: [
    ("90", 90), ("90s", 90), ("15m", 900), ("2h", 7200), ("0", nil), ("1d", nil), ("", nil),
  ])
  func timesAreReadAsPeopleTypeThem(text: String, seconds: Int64?) {
    #expect(DurationArgument(argument: text)?.seconds == seconds)
  }

  /// What mount(8), fstab and pam_mount call. The password comes on standard input if there is no terminal.
  @Test(arguments: [
    ("/sbin/mount.fuse.albumfs", ["/s", "/m", "-o", "rw,noexec"], ["-o", "rw", "-o", "noexec"]),
    (
      "mount.albumfs",
      ["/s", "/m", "-sn", "-o", "noauto,user,password_file=/p,idle=15m", "-t", "fuse.albumfs"],
      ["-o", "noauto", "-o", "user", "--password-file=/p", "--idle=15m"]
    ),
    ("albumfs", ["/s", "/m", "-o", "allow-other"], ["--allow-other"]),
    ("albumfs", ["/s", "/m"], ["--password-stdin"]),
    ("albumfs", ["/s", "/m", "-o", "fsname=album"], ["-o", "fsname=album"]),
  ])
  func callsOfMountAreTranslated(program: String, arguments: [String], options: [String]) {
    let call = MountHelper.translated(program, arguments) ?? []
    #expect(call.starts(with: ["mount", "--quiet", "/s", "/m"]))
    let found = call.indices.contains { call[$0...].starts(with: options) }
    #expect(found, "\(call)")
    // The mount table shows the store to everybody only where that was asked for.
    let isNamed = arguments.contains { $0.hasPrefix("fsname=") }
    #expect(call.count { $0.hasPrefix("fsname=") } == (isNamed ? 1 : 0))
  }

  /// A store in an object storage has no path, and options of its own.
  @Test func aStoreInAnObjectStorageIsNamedByItsAddress() throws {
    let entries = try parse(
      "store = s3://photos/album\nmountpoint = /nowhere/Album\ndurability = remote\nstaging-size = 1G"
    )
    let entry = UserConfiguration.Entry(
      store: "s3://photos/album", mountPoint: "/nowhere/Album",
      options: ["--durability", "remote", "--staging-size", "1G"])
    #expect(entries == [entry])
    let arguments = ["s3://photos/album", "/m", "-o", "staging=/var/lib/albums,durability=remote"]
    let call = MountHelper.translated("albumfs", arguments) ?? []
    #expect(
      call.starts(with: [
        "mount", "--quiet", "s3://photos/album", "/m", "--staging=/var/lib/albums",
        "--durability=remote",
      ]))
  }

  @Test func otherCallsAreNot() {
    #expect(MountHelper.translated("albumfs", ["mount", "/s", "/m"]) == nil)
    #expect(MountHelper.translated("mount.fuse.albumfs", ["/s", "/m", "-f"]) == [])
  }
}
