import AlbumTestSupport
import Foundation
import Glibc
import Posix
import Testing
import Traces

/// Lists of recently used files lose the entries of the mount and keep every other byte.
@Suite struct RecentFileTests {
  let home: TraceHome
  init() throws { home = try TraceHome() }

  private static let head = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!-- <bookmark href="file:///in/a/comment"> -->
    <xbel version="1.0"
          xmlns:bookmark="http://www.freedesktop.org/standards/desktop-bookmarks"
    >

    """

  private func bookmark(_ uri: String) -> String {
    """
      <bookmark href="\(uri)" added="2026-11-23T16:26:59.968141Z">
        <title>a &lt; b</title>
        <info>
          <metadata owner="http://freedesktop.org">
            <mime:mime-type type="image/jpeg"/>
            <bookmark:applications>
              <bookmark:application name="Image Viewer" exec="&apos;eog %u&apos;" count="1"/>
            </bookmark:applications>
          </metadata>
        </info>
      </bookmark>

    """
  }

  private func list(_ uris: [String]) -> String {
    RecentFileTests.head + uris.map(bookmark).joined() + "</xbel>"
  }

  @Test(arguments: [".local/share/recently-used.xbel", ".recently-used.xbel"])
  func onlyTheMountsEntriesGo(name: String) throws {
    let others = [
      home.uri("Album2/a.jpg"), home.uri("Pictures/a&b.jpg").replacing("&", with: "&amp;"),
      "https://example.org/?a=1&amp;b=2", home.uri("Albu"),
    ]
    let ours = [
      home.uri("Album/Trip/Photo/ä ö.jpg"), home.uri("Album"),
      home.uri("Album/a&b.jpg").replacing("&", with: "&amp;"),
      home.uri("Album/x'y.jpg").replacing("'", with: "&#39;"),
    ]
    let mixed = [ours[0], others[0], others[1], ours[1], ours[2], others[2], others[3], ours[3]]
    let path = try home.write(name, list(mixed))
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    #expect(home.found() == ["", "Trip/Photo/ä ö.jpg", "a&b.jpg", "x'y.jpg"])
    #expect(try home.text(name) == list(mixed))
    #expect(home.search(cleaning: true).traces.allSatisfy { $0.state == .removed })
    #expect(try home.text(name) == list(others), "the list is as if the mount had never been")
    #expect(home.found() == [])
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    #expect(try home.files().keys.sorted() == [name], "no temporary file is left")
  }

  @Test func anElementWithoutContentAndOneOnTheLineOfAnotherGoToo() throws {
    let name = ".local/share/recently-used.xbel"
    try home.write(
      name,
      "<xbel><bookmark href='\(home.uri("Album/a"))'/><bookmark href='file:///b'/> <bookmark href='\(home.uri("Album/c"))'></bookmark></xbel>\n"
    )
    _ = home.search(cleaning: true)
    #expect(try home.text(name) == "<xbel><bookmark href='file:///b'/></xbel>\n")
  }

  /// albumfs does not write files that it does not understand.
  @Test(arguments: [
    "", "plain text", "<html><bookmark href=\"X\"/></html>", "<xbel><bookmark href=\"X\"></xbel>",
    "<xbel><bookmark href=\"X\"/>", "<xbel><bookmark href=\"X\"/></xbel><xbel/>",
    "<!DOCTYPE xbel [<!ENTITY a \"b\">]><xbel><bookmark href=\"X\"/></xbel>",
    "<xbel><bookmark href=\"X&unknown;\"/></xbel>", "<xbel><bookmark href=X/></xbel>",
    "<xbel><bookmark href=\"X\"><bookmark href=\"X\"/></bookmark></xbel>",
    "<xbel><bookmark href=\"X\" href=\"X\"/></xbel>", "<xbel><bookmark title=\"X\"/></xbel>",
    "<xbel><!-- <bookmark href=\"X\"/></xbel>", "<xbel><bookmark href=\"X",
  ])
  func aFileThatIsNotUnderstoodStaysAndIsNamed(content: String) throws {
    let text = content.replacing("X", with: home.uri("Album/a.jpg"))
    let path = try home.write(".local/share/recently-used.xbel", text)
    let search = home.search(cleaning: true)
    #expect(search.traces == [])
    #expect(search.unseen == [UnseenFile(file: path, reason: .notUnderstood)])
    #expect(try home.text(".local/share/recently-used.xbel") == text)
  }

  @Test func aLinkIsNotFollowed() throws {
    let target = try home.write("dotfiles/recent.xbel", list([home.uri("Album/a.jpg")]))
    try home.write(".local/share/other", "")
    let path = home.home + "/.local/share/recently-used.xbel"
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    let search = home.search(cleaning: true)
    #expect(search.traces == [] && search.unseen.map(\.file) == [path])
    #expect(try home.text("dotfiles/recent.xbel") == list([home.uri("Album/a.jpg")]))
  }

  @Test func kdesEntriesAreFilesOfTheirOwn() throws {
    let folder = ".local/share/RecentDocuments"
    func entry(_ url: String, type: String = "Link") -> String {
      "[Desktop Entry]\nIcon=image\nName=a.jpg\nType=\(type)\n\(url)\nX-KDE-LastOpenedWith=gwenview\n"
    }
    try home.write("\(folder)/a.jpg.desktop", entry("URL=\(home.uri("Album/a.jpg"))"))
    try home.write("\(folder)/b.desktop", entry("URL[$e]=file:$HOME/Album/b.jpg"))
    let kept = [
      "c.desktop": entry("URL=\(home.uri("Album2/a.jpg"))"),
      "d.desktop": entry("URL[$e]=file:$HOME/Albums/b.jpg"),
      "e.desktop": entry("URL=\(home.uri("Album/a.jpg"))", type: "Application"),
      "f.txt": entry("URL=\(home.uri("Album/a.jpg"))"),
      "g.desktop": "[Other]\nType=Link\nURL=\(home.uri("Album/a.jpg"))\n",
    ]
    for (name, text) in kept { try home.write("\(folder)/\(name)", text) }
    #expect(home.found(cleaning: true) == ["a.jpg", "b.jpg"])
    #expect(try home.files().keys.sorted() == kept.keys.sorted().map { "\(folder)/\($0)" })
  }
}
