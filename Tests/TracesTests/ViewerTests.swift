import AlbumTestSupport
import Foundation
import Testing
import Traces

/// Histories of viewers, in the form that the programs of Debian 12 write.
@Suite struct ViewerTests {
  let home: TraceHome
  init() throws { home = try TraceHome() }

  @Test func geeqiesListsLoseTheMountsLines() throws {
    func history(_ extra: [String]) -> String {
      """
      #History lists

      [shortcuts]
      "Home[path]\(home.home)"
      "\(home.album)"

      [path_list]
      "\(home.home)/Album2"
      \(extra.joined(separator: "\n"))"\(home.home)/Pictures"

      #end

      """
    }
    let ours = ["\"\(home.album)\"", "\"\(home.album)/a\"b.jpg\"", ""]
    try home.write(".config/geeqie/history", history(ours))
    let marks = "#Marks lists\n\(home.home)/Album2/a.jpg,1\n"
    try home.write(".config/geeqie/marks", marks + "\(home.album)/a,b.jpg,3\n#end\n")
    #expect(home.found(cleaning: true) == ["", "a\"b.jpg", "a,b.jpg"])
    #expect(try home.text(".config/geeqie/history") == history([]))
    #expect(try home.text(".config/geeqie/marks") == marks + "#end\n")
  }

  @Test func geeqiesCopiesOfPathsGoWithTheirEmptyDirectories() throws {
    let base = ".cache/geeqie/thumbnails"
    let metadata = ".local/share/geeqie/metadata"
    try home.write("\(base)\(home.album)/Trip/Photo/a.jpg.png", "x")
    try home.write("\(base)\(home.album)/b.jpg.png", "x")
    try home.write("\(base)\(home.home)/Album2/b.jpg.png", "x")
    try home.write("\(metadata)\(home.album)/Trip/Photo/a.jpg.gq.xmp", "x")
    #expect(
      home.found(cleaning: true)
        == ["Trip/Photo/a.jpg.gq.xmp", "Trip/Photo/a.jpg.png", "b.jpg.png"])
    let left = try FileManager.default.subpathsOfDirectory(atPath: home.home)
    #expect(!left.contains { $0.hasSuffix("/Album") || $0.contains("Trip") })
    #expect(left.contains { $0.hasSuffix("/Album2/b.jpg.png") })
    #expect(left.contains(base) && left.contains(metadata), "geeqie's own directories stay")
    #expect(!left.contains(metadata + home.home))
  }

  @Test func gThumbsHistoryAndGwenviewsFoldersAreCleaned() throws {
    let other = "<xbel>\n  <bookmark href=\"file:///home\"/>\n"
    try home.write(
      ".config/gthumb/history.xbel",
      other + "  <bookmark href=\"\(home.uri("Album/Trip"))\">\n  </bookmark>\n</xbel>\n")
    try home.write(
      ".local/share/gwenview/recentfolders/gvhistoryaaarc",
      "[general]\ndateTime=2026-11-23T00:00:00\nurl[$e]=file://$HOME/Album/Photo\n")
    try home.write(
      ".local/share/gwenview/recentfolders/gvhistorybbbrc", "[general]\nurl=\(home.uri("Album3"))\n"
    )
    #expect(home.found(cleaning: true) == ["Photo", "Trip"])
    #expect(try home.text(".config/gthumb/history.xbel") == other + "</xbel>\n")
    #expect(
      try home.files().keys.sorted() == [
        ".config/gthumb/history.xbel", ".local/share/gwenview/recentfolders/gvhistorybbbrc",
      ])
  }

  /// A directory that the user chose to begin in stays, as do other files' entries.
  @Test func miragesRecentFilesAndLastDirectoryGoAndNothingElse() throws {
    func settings(_ last: String, _ recent: [String]) -> String {
      """
      [window]
      w = 600

      [prefs]
      simple-bgcolor = False
      \(last)fixed_dir = \(home.album)/chosen

      [recent]
      num_recent = 4
      num[0] = 40
      urls[0,0] = \(home.home)/Album2/a = b.jpg
      \(recent.map { $0 + "\n" }.joined())num[3] = 0
      urls[3,0] =


      """.replacing("urls[3,0] =\n", with: "urls[3,0] = \n")
    }
    let ours = [
      "num[1] = 31", "urls[1,0] = \(home.album)/Trip/a = b.jpg", "num[2] = 9",
      "urls[2,0] = \(home.album)/c.jpg",
    ]
    try home.write(".config/mirage/miragerc", settings("last_dir = \(home.album)/Trip\n", ours))
    #expect(home.found() == ["Trip", "Trip/a = b.jpg", "c.jpg", "chosen"])
    let search = home.search(cleaning: true)
    #expect(search.traces.filter { $0.state == .removed }.count == 3)
    #expect(try home.text(".config/mirage/miragerc") == settings("", []))
    try home.write(".config/mirage/miragerc", "last_dir = \(home.album)")
    #expect(home.search(cleaning: true).unseen.map(\.reason) == [.notUnderstood])
  }

  /// Settings belong to daemons that hold them in memory.
  @Test func settingsAreNamedAndStay() throws {
    let channels = ".config/xfce4/xfconf/xfce-perchannel-xml"
    let text =
      "<property value=\"\(home.uri("Album/a.jpg"))\"/><property value=\"\(home.uri("Album2"))\"/>"
    try home.write("\(channels)/ristretto.xml", text)
    try home.write(".config/nomacs/Image Lounge.conf", "recentFiles=\(home.album)/b c.jpg\n")
    try home.write(
      ".config/dconf/user", Array("GVariant\0\0".utf8) + Array("\(home.album)/d\0".utf8))
    try home.write(
      ".config/QtProject.conf",
      "[FileDialog]\nhistory=\(home.uri("Album2")), \(home.uri("Album/h"))\n")
    try home.write(
      ".config/darktable/darktablerc",
      "history0=1:0:0:\(home.album)/i$\nlast=1:0:0:\(home.home)/Album2$\n")
    try home.write(
      ".config/session/dolphin_dolphin_dolphin",
      "Tab Data 0=\\x00\\x00\\x1a\(home.uri("Album/j"))\\x00\\x01\n")
    try home.write(".config/RawTherapee/options", "RecentFolders=\(home.album)/k;\n")
    let search = home.search(cleaning: true)
    let found = Set(search.traces.map { String(decoding: $0.path ?? [], as: UTF8.self) })
    #expect(found == ["a.jpg", "b c.jpg", "d", "h", "i", "j", "k"])
    #expect(search.traces.allSatisfy { $0.state == .stays(.setting) })
    #expect(try home.text("\(channels)/ristretto.xml") == text)
  }

  /// Shotwell, darktable and Nautilus keep names in databases, and thumbnails by numbers of these.
  @Test func databasesThatNamePhotosAreNamedAndStay() throws {
    let shotwell = ".local/share/shotwell/data/photo.db"
    let stars = ".local/share/nautilus/tags/meta.db"
    func row(_ name: String) -> [UInt8] { [1, 0x41] + Array(name.utf8) + [2, 0x41] }
    try home.write(shotwell, row("\(home.album)2/a.jpg"))
    try home.write(stars, row(home.uri("Album3/a.jpg")))
    try home.write(".cache/shotwell/thumbs/thumbs128/thumb01.jpg", "x")
    #expect(home.search(cleaning: true).traces.isEmpty)

    try home.write(shotwell, row("\(home.album)2/a.jpg") + row("\(home.album)/b.jpg"))
    try home.write(stars, row(home.uri("Album/a.jpg")))
    let search = home.search(cleaning: true)
    #expect(
      search.traces.map(\.file) == [
        home.home + "/" + shotwell, home.home + "/.cache/shotwell/thumbs", home.home + "/" + stars,
      ])
    #expect(search.traces.allSatisfy { $0.state == .stays(.database) && $0.path == [] })
    #expect(try home.files().count == 3)
  }

  /// The names of these files are checksums, so nothing says whose pictures they are.
  @Test func cachesOfUnknownPicturesAreNamedAndStay() throws {
    try home.write(".cache/qimgv/thumbnails/0123.png", "x")
    try home.write(".cache/digikam/undocache-7-0.bin", "x")
    try home.write(".config/GIMP/2.10/backups/backup-000.xcf", "x")
    let search = home.search(cleaning: true)
    #expect(search.traces.count == 3)
    #expect(search.traces.allSatisfy { $0.state == .stays(.unproven) && $0.path == nil })
    #expect(try home.files().count == 3)
  }

  /// Nothing in such a file says whose picture it is.
  @Test func aTemporaryPictureIsNamedAndStays() throws {
    let paths = ["eog-save-A1B2C3", "eom-save-A1B2C3"].map { home.temporary + "/" + $0 }
    for path in paths + [home.temporary + "/other"] {
      try Data([1]).write(to: URL(fileURLWithPath: path))
    }
    let search = home.search(cleaning: true)
    #expect(search.traces.map(\.file).sorted() == paths)
    #expect(search.traces.allSatisfy { $0.state == .stays(.unproven) })
    #expect(paths.allSatisfy { FileManager.default.fileExists(atPath: $0) })
  }

  /// KDE's programs move what a user deletes out of the mount, into the trash of the home directory.
  @Test func filesInTheTrashAreNamedAndStay() throws {
    let trash = ".local/share/Trash"
    func note(_ path: String) -> String {
      "[Trash Info]\nPath=\(path)\nDeletionDate=2026-11-24T22:36:55\n"
    }
    try home.write("\(trash)/info/a b.jpg.trashinfo", note("\(home.album)/Trip/a%20b.jpg"))
    try home.write("\(trash)/files/a b.jpg", "picture")
    try home.write("\(trash)/info/c.jpg.trashinfo", note("\(home.home)/Album2/c.jpg"))
    let before = try home.files()
    let found = home.search()
    #expect(found.traces.map(\.path) == [Array("Trip/a b.jpg".utf8)])
    #expect(found.traces.map(\.file) == ["\(home.home)/\(trash)/files/a b.jpg"])
    let cleaned = home.search(cleaning: true)
    #expect(cleaned.traces.map(\.state) == [.stays(.trash)])
    #expect(try home.files() == before)
  }
}
