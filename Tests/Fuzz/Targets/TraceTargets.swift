import AlbumModel
import AlbumTestSupport
import FoundationEssentials
import Glibc
import Posix

@testable import Traces

/// The list of recently used files, which GTK and KDE write.
enum RecentFilesTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let bookmarks = """
      <bookmark href="file:///home/ann/Album/a%20b.jpg" added="2026-01-01T00:00:00Z">
          <info><metadata owner="http://freedesktop.org"><mime:mime-type type="image/jpeg"/></metadata></info>
        </bookmark>
        <bookmark href='file:///b&amp;&#x63;.jpg'/>
      """
    return [
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<xbel version=\"1.0\">\n  \(bookmarks)\n</xbel>\n",
      "<!-- x --><xbel><title><![CDATA[a]]></title>\(bookmarks)</xbel>", "<xbel/>",
    ].map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    guard let bookmarks = BookmarkFile(bytes)?.bookmarks else { return }
    var end = 0
    for bookmark in bookmarks {
      require(bookmark.range.lowerBound >= end, "bookmarks follow one another")
      require(bytes[bookmark.range].starts(with: "<bookmark".utf8), "a bookmark begins so")
      require(bytes[bookmark.range].last == UInt8(ascii: ">"), "and ends with a tag")
      end = bookmark.range.upperBound
    }
    let rest = BookmarkFile.removing(bookmarks, from: bytes)
    require(BookmarkFile(rest)?.bookmarks == [], "what is left is understood, and has none")
  }
}

/// A thumbnail of another program, in a file.
enum ThumbnailTextTarget: FuzzTarget {
  private static let keyword = "Thumb::URI"
  private static let folder: String = {
    var template = Array("/dev/shm/albumfs-fuzz-XXXXXX".utf8CString)
    guard let path = unsafe mkdtemp(&template) else { fatalError("no room in /dev/shm") }
    return unsafe String(cString: path)
  }()

  static func seeds() -> [[UInt8]] {
    func png(_ type: String, _ text: [UInt8]) -> [UInt8] {
      let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      let data = Array(keyword.utf8) + text
      let length = [0, 0, UInt8(data.count >> 8), UInt8(data.count & 0xFF)]
      let end = [0, 0, 0, 0] + Array("IEND".utf8)
      return signature + length + Array(type.utf8) + data + [0, 0, 0, 0] + end
    }
    let compressed = [TextSamples.fixed, TextSamples.dynamic].compactMap { Data(base64Encoded: $0) }
    return [png("tEXt", [0] + Array("file:///a.jpg".utf8))]
      + compressed.map { png("zTXt", [0, 0] + $0) }
      + compressed.map { png("iTXt", [0, 1, 0, 0, 0] + $0) }
  }

  static func run(_ bytes: [UInt8]) {
    do throws(Errno) {
      let file = try FileDescriptor(open: folder + "/0.png", O_WRONLY | O_CREAT | O_TRUNC)
      try file.writeAll(bytes)
      let opened = try OwnedDirectory(path: folder, user: Credentials.user)
        .open(FileName(known: Array("0.png".utf8)))
      guard let text = try? PNGText.value(of: keyword, in: opened) else { return }
      require(text.count <= 64 << 10, "a text is no longer than its limit")
    } catch {
      require(false, "a file in memory can be written: \(error)")
    }
  }
}

/// The tree and the journal of gvfs' metadata.
enum GvfsMetadataTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [GvfsSamples.tree, GvfsSamples.emptyTree, GvfsSamples.journal].compactMap {
      Data(base64Encoded: $0).map(Array.init)
    }
  }

  static func run(_ bytes: [UInt8]) {
    for path in (try? GvfsFormat.tree(bytes).paths) ?? [] {
      require(path.first == UInt8(ascii: "/"), "a path of the tree begins at its root")
    }
    _ = try? GvfsFormat.journal(bytes)
  }
}

/// Settings of KDE's programs and desktop entries.
enum SettingsFileTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      "[Desktop Entry]\nType=Link\nURL[$e]=file://$HOME/Album/a.jpg\n",
      "# x\n[Desktop Entry]\nURL = file:///b\n[A]\nType=Link\n",
    ].map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    let link = SettingsFile.link(bytes, home: "/home/ann")
    require((link?.count ?? 0) <= bytes.count + "/home/ann".utf8.count, "no address is made up")
  }
}
