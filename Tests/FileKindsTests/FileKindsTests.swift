import FileKinds
import Foundation
import PictureMetadata
import Testing

/// What a file is, by its first bytes and by its name: one table, and all that ask it agree.
struct FileKindsTests {
  /// A file of boxes with these brands, the first of which is the main one.
  private static func file(_ brands: [String]) -> [UInt8] {
    let body = Array((["ftyp", brands[0], "\0\0\0\0"] + brands.dropFirst()).joined().utf8)
    return [0, 0, 0, UInt8(body.count + 4)] + body
  }

  @Test(
    "A brand that names no codec is told by the compatible ones",
    arguments: [
      (["heic", "mif1"], ImageKind.heif), (["hevx", "mif1", "heic"], .heif),
      (["MiHE", "mif1", "heic", "miaf"], .heif), (["MiHB", "mif1", "heic"], .heif),
      (["mif2", "mif1", "heic"], .heif), (["msf1", "hevc", "iso8"], .heif),
      (["ABCD", "mif1", "heic"], .heif), (["ABCD", "mif1", "miaf"], .heif),
      (["mif1", "miaf", "avif"], .avif), (["ABCD", "mif1", "avif"], .avif),
      (["avis", "msf1", "avif"], .avif), (["crx ", "isom"], .raw),
      (["isom", "iso2", "avc1", "mp41"], .mp4), (["qt  "], .mp4), (["ABCD", "mp42"], .mp4),
      (["mp42", "mif1", "heic"], .mp4),
    ])
  func brands(_ brands: [String], _ kind: ImageKind) {
    let start = FileKindsTests.file(brands)
    #expect(ImageKind(sniffing: start) == kind)
    let isPicture = ImageKind.pictures.contains(kind)
    let shown = ImageKind.browserType(of: start)
    #expect(kind == .avif ? shown == "image/avif" : isPicture ? shown == nil : shown != nil)
    // Metadata can be taken out of it, or it is another kind.
    #expect(canBeStripped(start) == [.heif, .avif].contains(kind))
  }

  /// A file of brands alone is damaged, where its kind is one that can be stripped.
  private func canBeStripped(_ file: [UInt8]) -> Bool {
    do {
      _ = try StrippedPicture.plan(size: Int64(file.count)) { count, offset in
        Array(file.dropFirst(Int(offset)).prefix(count))
      }
      return true
    } catch {
      return error != .unknownKind
    }
  }

  @Test("Sound is neither picture nor film")
  func sound() {
    let start = FileKindsTests.file(["M4A ", "mp42", "isom"])
    #expect(ImageKind(sniffing: start) == nil)
    #expect(ImageKind.browserType(of: start) == nil)
  }

  @Test("Each kind has a usual ending, and a name with it is listed as that kind")
  func endings() {
    for kind in ImageKind.allCases {
      let ending = kind.ending(start: [])
      #expect(kind.accepts(ending: ending), "\(kind) \(ending)")
      let listed = NamedKind(of: Array("a/IMG.1.\(ending.uppercased())".utf8))
      #expect(listed == (ImageKind.videos.contains(kind) ? .film : .picture), "\(kind)")
    }
    for name in ["jpg", "a/b.jpg/c", "note.txt", "", ".", "a.longending"] {
      #expect(NamedKind(of: Array(name.utf8)) == .other, "\(name)")
    }
    #expect(NamedKind(of: Array("a.mpeg".utf8)) == .film)
  }

  @Test("The ending that albumfs gives a film or raw picture is that of its variety")
  func varieties() {
    #expect(ImageKind.mp4.ending(start: FileKindsTests.file(["qt  "])) == "mov")
    #expect(ImageKind.mp4.ending(start: FileKindsTests.file(["isom"])) == "mp4")
    #expect(ImageKind.raw.ending(start: FileKindsTests.file(["crx "])) == "cr3")
    #expect(
      ImageKind.matroska.ending(start: [0x1a, 0x45, 0xdf, 0xa3] + Array("webm".utf8)) == "webm")
  }

  /// The page cannot ask the table, and has the brands of HEIC of its own.
  @Test("The gallery's page knows the same brands of HEIC and AVIF")
  func page() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appendingPathComponent("Sources/Gallery/Pages/upload-kind.js"),
      encoding: .utf8)
    for brand in ImageKind.pictureBrands {
      #expect(page.contains("\"\(brand)\""), "\(brand)")
    }
  }

  /// The gallery's page leaves out the same when a folder is dropped on it. Hidden folders stay behind there
  /// anyway.
  @Test func thePageLeavesOutTheSame() throws {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/Gallery/Pages/upload-files.js")
    let text = try String(contentsOf: page, encoding: .utf8)
    for (name, isListed) in [
      ("leftoverFiles", Leftover.isFile), ("leftoverFolders", Leftover.isFolder),
    ] {
      let rest = try #require(text.components(separatedBy: "const \(name) = new Set([").last)
      let list = rest.components(separatedBy: "]")[0].matches(of: /"([^"]+)"/)
        .map { String($0.1).replacing("\\r", with: "\r") }
      #expect(list.count > 5)
      for entry in list { #expect(isListed(Array(entry.utf8)), "\(entry)") }
    }
  }

  @Test func whatOtherProgramsKeepIsKnownInAnyCase() {
    for name in ["@eaDir", "@EADIR", "$recycle.bin", "System Volume Information", ".Trash-1000"] {
      #expect(Leftover.isFolder(Array(name.utf8)), "\(name)")
    }
    for name in ["Thumbs.db", "THUMBS.DB", "Desktop.ini", ".DS_Store", "Icon\r"] {
      #expect(Leftover.isFile(Array(name.utf8)), "\(name)")
    }
    for name in ["Recycled", "Thumbs", "Icon", "eaDir", ""] {
      #expect(!Leftover.isFolder(Array(name.utf8)) && !Leftover.isFile(Array(name.utf8)), "\(name)")
    }
  }
}
