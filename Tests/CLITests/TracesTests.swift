import AlbumTestSupport
import ControlProtocol
import Foundation
import Glibc
import Testing

@testable import albumfs

/// `albumfs traces` on a home directory of the test's own.
@Suite struct TracesCommandTests {
  private let scratch: ScratchDirectory
  private var home: String { scratch.path("home") }
  private var album: String { home + "/My Album" }

  init() throws {
    scratch = try ScratchDirectory()
    try write(".local/share/recently-used.xbel", recent([uri("Trip/a.jpg"), "file:///other"]))
    try write(
      ".config/geeqie/history", "#History lists\n\n[image_list]\n\"\(album)/Trip/a.jpg\"\n\n#end\n")
  }

  private func recent(_ uris: [String]) -> String {
    "<xbel>" + uris.map { "\n  <bookmark href=\"\($0)\"/>" }.joined() + "\n</xbel>\n"
  }

  private func uri(_ path: String) -> String {
    "file://\(album)/\(path)".replacing(" ", with: "%20")
  }

  private func write(_ name: String, _ text: String) throws {
    let path = home + "/" + name
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  private func run(_ arguments: [String]) throws -> Command.Outcome {
    var command = Command.built("albumfs", ["traces"] + arguments)
    command.environment = [
      "HOME": home, "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "",
      "TMPDIR": scratch.path, "DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "",
    ]
    return try command.run()
  }

  /// The mount point need not exist: `umount` may have removed it.
  @Test func tracesAreListedAndRemovedOnRequest() throws {
    let listed = try run([album])
    #expect(listed.code == 0)
    #expect(
      listed.output.split(separator: "\n").sorted() == [
        "history: Trip/a.jpg, in \(home)/.config/geeqie/history",
        "recently used file: Trip/a.jpg, in \(home)/.local/share/recently-used.xbel",
      ])
    let advice = "2 traces. Remove them with: albumfs traces '\(album)' --clean\n"
    #expect(listed.errors.hasSuffix(advice))
    let cleaned = try run([album, "--clean"])
    #expect(cleaned.code == 0 && cleaned.output == "")
    #expect(cleaned.errors == "Removed 2 traces.\n")
    #expect(try run([album]).errors == "No traces found.\n")
    let text = try String(
      contentsOfFile: home + "/.local/share/recently-used.xbel", encoding: .utf8)
    #expect(text == recent(["file:///other"]))
  }

  /// A list that `sudo` left behind may hold traces that nobody sees.
  @Test func aPlaceThatCannotBeLookedIntoIsNoSuccess() throws {
    let list = home + "/.local/share/recently-used.xbel"
    try #require(unsafe chown(list, 1, 1) == 0, "this test needs root")
    #expect(try run([album]).code == 0)
    let cleaned = try run([album, "--clean"])
    #expect(cleaned.code == 50)
    #expect(cleaned.errors.contains("Not looked into: \(list): it is another user's"))
    #expect(cleaned.errors.hasSuffix("albumfs: 1 place could not be looked into.\n"))
  }

  @Test func programsReadJSON() throws {
    struct Listing: Decodable {
      struct Entry: Decodable, Equatable {
        var kind: String
        var file: String
        var path: String?
        var state: String
      }
      var version: Int
      var mountPoints: [String]
      var complete: Bool
      var traces: [Entry]
    }
    let outcome = try run([album, "--json", "-q"])
    #expect(outcome.errors == "")
    let listing = try JSONDecoder().decode(Listing.self, from: Data(outcome.output.utf8))
    #expect(listing.version == 1 && listing.mountPoints == [album] && listing.complete)
    #expect(
      listing.traces.contains(
        .init(
          kind: "recentFile", file: "\(home)/.local/share/recently-used.xbel", path: "Trip/a.jpg",
          state: "found")))
  }

  @Test func whatStaysHasAnExitCodeAndAReason() throws {
    try write(".config/dconf/user", "GVariant\0\(uri("b.jpg"))\0")
    let outcome = try run([album, "--clean"])
    #expect(outcome.code == 50)
    #expect(outcome.output.contains("setting: b.jpg, in \(home)/.config/dconf/user: stays: "))
    #expect(
      outcome.errors.contains("Removed 2 traces.") && outcome.errors.contains("1 trace stays."))
  }

  @Test func aFileThatIsNotUnderstoodIsNamed() throws {
    try write(".local/share/recently-used.xbel", "<xbel><bookmark href=\"\(uri("a"))\">")
    let outcome = try run([album, "--clean"])
    #expect(outcome.errors.contains("Not looked into: \(home)/.local/share/recently-used.xbel: "))
  }

  /// A slip must not remove the traces of everything.
  @Test(arguments: ["/", "HOME", "HOME/..", "HOME/x/.."])
  func theHomeDirectoryIsNoMountPoint(path: String) throws {
    try FileManager.default.createDirectory(atPath: home + "/x", withIntermediateDirectories: true)
    let outcome = try run([path.replacing("HOME", with: home), "--clean"])
    #expect(outcome.code == 1 && outcome.errors.contains("Give a mount point."))
    #expect(try run([album]).output != "")
  }

  /// A mount point that is reached through a link has two names.
  @Test func aMountPointBehindALinkIsFoundByBothNames() throws {
    try FileManager.default.createDirectory(
      atPath: scratch.path("disk/Album"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: home + "/link", withDestinationPath: scratch.path("disk"))
    try write(
      ".local/share/recently-used.xbel",
      recent([
        "file://\(home)/link/Album/a", "file://\(scratch.path("disk/Album/b"))",
        "file://\(home)/link/x",
      ]))
    let outcome = try run([home + "/link/Album"])
    #expect(outcome.output.split(separator: "\n").count == 2, "\(outcome)")
  }

  @Test func aStoreThatIsNotMountedIsNoMountPoint() throws {
    let store = try TestStore()
    let outcome = try run([store.path])
    #expect(outcome.code == 41 && outcome.errors.contains("Give the mount point."))
  }

  // MARK: browse

  @Test func browseMovesWhatProgramsKeepAndLeavesTheRest() {
    let environment = BrowseFolder.environment(
      [
        "HOME=/h", "XDG_DATA_DIRS=/a:/b", "XDG_RUNTIME_DIR=/run/1", "TMPDIR=/t",
        "XDG_CONFIG_HOME=/c",
      ],
      "/m/.albumfs-browse")
    #expect(
      environment.sorted() == [
        "GVFS_DISABLE_FUSE=1", "HOME=/h", "TMPDIR=/m/.albumfs-browse/tmp",
        "XDG_CACHE_HOME=/m/.albumfs-browse/cache", "XDG_CONFIG_HOME=/c",
        "XDG_DATA_DIRS=/h/.local/share:/a:/b", "XDG_DATA_HOME=/m/.albumfs-browse/data",
        "XDG_RUNTIME_DIR=/run/1", "XDG_STATE_HOME=/m/.albumfs-browse/state",
      ])
  }

  @Test(arguments: [
    ("thunar %U", ["thunar"]), ("/opt/a\\b --x %f", ["/opt/a\\b", "--x"]),
    ("\"/opt/my \\\"files\\\"\" --new-window %u", ["/opt/my \"files\"", "--new-window"]), ("", []),
  ])
  func theProgramOfADesktopEntryIsRead(line: String, words: [String]) {
    #expect(FileManagerChoice.split(line) == words)
  }

  @Test func quotedWordsCanBePasted() {
    #expect(ShellWord.quoted("/home/ann/Album") == "/home/ann/Album")
    #expect(ShellWord.quoted("a b'c") == "'a b'\\''c'")
  }
}
