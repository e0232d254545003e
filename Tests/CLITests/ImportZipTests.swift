import AlbumModel
import AlbumTestSupport
import ControlProtocol
import Foundation
import Posix
import Testing

@testable import albumfs

/// Import from zip files, which may come from another program or system, or be hostile. Python makes the zip
/// files, and a plain directory stands for the album.
@Suite struct ImportZipTests {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  /// Makes `a.zip` by a program that adds to `z`, and imports it.
  private func imported(
    _ program: String, options: Importer.Options = Importer.Options(), room: Int64? = nil
  ) throws -> (report: ImportReport, failure: Failure?) {
    try make(program)
    return run(options)
  }

  private func make(_ program: String) throws {
    let prelude = """
      import os, struct, warnings, zipfile, zlib
      from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo
      warnings.simplefilter("ignore")
      os.chdir(r"\(scratch.path)")
      z = ZipFile("a.zip", "w", ZIP_DEFLATED)

      """
    let text = prelude + program + "\nz.close()\n"
    let outcome = try Command("/usr/bin/env", ["TZ=UTC", "python3", "-c", text]).run()
    try #require(outcome.code == 0, "\(outcome)")
  }

  private func run(
    _ options: Importer.Options = Importer.Options(), _ sources: [String] = ["a.zip"]
  ) -> (report: ImportReport, failure: Failure?) {
    var importer = Importer(
      into: scratch.path("album"), options, Importer.Surroundings(synchronize: {}))
    var failure: Failure?
    let paths = sources.map { PlainPath(scratch.path($0)) }
    do throws(Failure) { try importer.run(paths) } catch { failure = error }
    return (importer.report, failure)
  }

  /// All files in the album, by their paths in it.
  private func found() -> [String] {
    let all = FileManager.default.enumerator(atPath: scratch.path("album"))
    return (all?.compactMap { $0 as? String } ?? []).sorted().filter {
      !scratch.isDirectory("album/\($0)")
    }
  }

  @Test func foldersBecomeAlbums() throws {
    let outcome = try imported(
      """
      z.writestr("top.jpg", b"top" * 100000)
      z.writestr(ZipInfo("Trip/Day/", (2020, 1, 2, 3, 4, 6)), b"")
      z.writestr(ZipInfo("Trip/Day/a.jpg", (2020, 1, 2, 3, 4, 6)), b"stored")
      z.writestr("DCIM/100CANON/b.jpg", b"b"); z.writestr("Trip/Photo/c.jpg", b"c")
      z.writestr("Trip/Thumb/c.jpg", b"small"); z.writestr("__MACOSX/._a.jpg", b"x")
      z.writestr("Trip/same.jpg", b"c"); z.writestr("Trip/Photo/empty.jpg", b"")
      """)
    #expect(outcome.failure == nil && outcome.report.errors == [] && outcome.report.complete)
    #expect(
      found() == [
        "Photo/b.jpg", "Photo/top.jpg", "Trip/Day/Photo/a.jpg", "Trip/Photo/c.jpg",
        "Trip/Photo/empty.jpg",
      ])
    #expect(outcome.report.imported == 5 && outcome.report.duplicates == 1)
    #expect(outcome.report.leftOut.map(\.path) == [scratch.path("a.zip/__MACOSX")])
    let top = try Data(contentsOf: URL(fileURLWithPath: scratch.path("album/Photo/top.jpg")))
    #expect(top == Data(String(repeating: "top", count: 100_000).utf8))
    // The next run finds that everything is there.
    let again = run().report
    #expect(again.imported == 0 && again.duplicates == 6 && found().count == 5)
    let planned = run(Importer.Options(isDryRun: true)).report
    #expect(planned.imported == 0 && planned.duplicates == 6 && planned.plan == [])
  }

  /// A program that unpacks itself, whose numbers count from the zip file, or from the file as `zip -A` has it.
  @Test(arguments: ["", "counted", "large"])
  func whatLiesInFrontOfAZipFileIsNoObstacle(form: String) throws {
    for name in ["a.zip", "a.exe"] {
      try make(
        """
        z.writestr("Trip/a.jpg", b"a" * 5000); z.writestr("b.jpg", os.urandom(300))
        z.close(); plain = open("a.zip", "rb").read(); stub = b"MZ a program" * 1000
        if "\(form)" == "large":
            end = plain.rindex(b"PK\\5\\6"); count, start = struct.unpack("<II", plain[end + 12:end + 20])
            record = b"PK\\6\\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 2, 2, count, start)
            locator = b"PK\\6\\7" + struct.pack("<IQI", 0, end, 1)
            plain = plain[:end] + record + locator + plain[end:]
        whole = stub + plain
        os.unlink("a.zip"); open("\(name)", "wb").write(whole)
        if "\(form)" == "counted":
            with ZipFile("\(name)", "a") as again: again.writestr("c.jpg", b"c")
        z = open("/dev/null")
        """)
      let outcome = run(Importer.Options(), [name])
      #expect(outcome.failure == nil && outcome.report.errors == [], "\(name): \(outcome)")
      let more = form == "counted" ? ["Photo/c.jpg"] : []
      #expect(found() == ["Photo/b.jpg"] + more + ["Trip/Photo/a.jpg"], "\(name)")
      try FileManager.default.removeItem(atPath: scratch.path("album"))
    }
  }

  /// Any other program, and a text that somebody named so.
  @Test func aFileWithoutAZipFileInItIsAFile() throws {
    try make(
      "z.close(); open('a.zip', 'wb').write(b'text' * 9000); open('a.exe', 'wb').write(b'MZ' * 9000)"
    )
    let outcome = run(Importer.Options(), ["a.zip", "a.exe"])
    #expect(outcome.report.errors == [] && found() == ["Photo/a.exe", "Photo/a.zip"], "\(outcome)")
  }

  /// UTF-8 with its mark, the code page of the first PC, a name in an extra field, and Latin-1 of a Unix.
  @Test func namesAreReadAsTheyWereWritten() throws {
    let outcome = try imported(
      #"""
      z.writestr("ä.jpg", b"1")
      for name, host in [("D__.jpg", 0), ("U__.jpg", 3), ("E__.jpg", 0)]:
          info = ZipInfo(name); info.create_system = host; z.writestr(info, name[0] * 3)
      z.close()
      data = open("a.zip", "rb").read()
      data = data.replace(b"D__", b"D\x84\\").replace(b"U__", b"U\xe4\\").replace(b"E__", b"E\xe9\x5f")
      open("a.zip", "wb").write(data)
      """#)
    #expect(outcome.failure == nil && outcome.report.errors == [], "\(outcome)")
    func holds(_ bytes: [UInt8]) -> Bool {
      PathCalls.exists(PlainPath(bytes: Array(scratch.path("album/").utf8) + bytes))
    }
    #expect(holds(Array("Photo/ä.jpg".utf8)) && holds(Array("Dä/Photo/.jpg".utf8)) == false)
    #expect(outcome.report.hidden == 1, "a backslash of Windows separates folders")
    #expect(holds(Array("Photo/U".utf8) + [0xE4] + Array("\\.jpg".utf8)))
    #expect(holds(Array("Photo/EΘ_.jpg".utf8)))
  }

  /// A record has room for thousands of fields with a name, and the checksum of each takes as long as the name.
  @Test func onlyTheFirstNameInAnExtraFieldCounts() throws {
    let outcome = try imported(
      """
      def field(name):
          body = b"\\1" + struct.pack("<I", zlib.crc32(b"a.jpg")) + name
          return struct.pack("<HH", 0x7075, len(body)) + body
      info = ZipInfo("a.jpg"); info.extra = field(b"first.jpg") + field(b"second.jpg")
      z.writestr(info, b"1")
      """)
    #expect(outcome.failure == nil && outcome.report.errors == [], "\(outcome)")
    #expect(found() == ["Photo/first.jpg"])
  }

  @Test func namesThatLeadOutAreRefusedAndTheOthersImported() throws {
    let outcome = try imported(
      #"""
      for name in ["../up.jpg", "/abs.jpg", "a/../../b.jpg", "a//c.jpg", "./d.jpg", "x" * 300]:
          z.writestr(name, b"evil")
      for name in ["C:/e.jpg", "..\\f.jpg", "\\g.jpg"]:
          info = ZipInfo("n"); info.filename = name; info.create_system = 0; z.writestr(info, b"evil")
      link = ZipInfo("link.jpg"); link.create_system = 3; link.external_attr = 0o120777 << 16
      z.writestr(link, "/etc/passwd")
      pipe = ZipInfo("pipe.jpg"); pipe.create_system = 3; pipe.external_attr = 0o010644 << 16
      z.writestr(pipe, "")
      z.writestr("/".join(["d"] * 200), b"deep")
      z.writestr("good.jpg", b"good")
      """#)
    #expect(outcome.failure == nil && outcome.report.complete && outcome.report.errors.count == 12)
    #expect(found() == ["Photo/good.jpg"])
    let above = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
    #expect(above.sorted() == ["a.zip", "album"])
  }

  @Test func bombsAreRefused() throws {
    let bombs = [
      // More than 100 times its size.
      "z.writestr('zeros', bytes(200 << 20))",
      // Files that share their bytes.
      """
      z.writestr("a", bytes(1000)); z.writestr("b", bytes(1000)); z.close()
      data = bytearray(open("a.zip", "rb").read()); second = data.rindex(b"PK\\1\\2")
      data[second + 42:second + 46] = bytes(4); open("a.zip", "wb").write(data)
      """,
    ]
    for program in bombs {
      let outcome = try imported(program)
      #expect(outcome.report.errors.first?.reason.contains("bomb") ?? false, "\(outcome)")
      #expect(found() == [])
    }
    // It unpacks to more than it declares.
    let liar = try imported(
      """
      z.writestr("liar.jpg", bytes(1000000)); z.close()
      data = bytearray(open("a.zip", "rb").read()); entry = data.rindex(b"PK\\1\\2")
      data[entry + 24:entry + 28] = struct.pack("<I", 10); open("a.zip", "wb").write(data)
      """)
    #expect(liar.report.errors.map(\.reason) == ["it is damaged"] && found() == [])
  }

  @Test func filesThatCannotBeReadAreNamed() throws {
    let outcome = try imported(
      """
      z.writestr("good.jpg", b"good" * 1000); z.writestr("bad.jpg", os.urandom(5000))
      z.writestr("secret.jpg", b"x"); z.writestr("odd.jpg", b"y", 14)
      place = z.getinfo("bad.jpg").header_offset; z.close()
      data = bytearray(open("a.zip", "rb").read()); data[place + 1000] ^= 1
      entry = data.rindex(b"secret.jpg") - 46; data[entry + 8] |= 1; open("a.zip", "wb").write(data)
      """)
    #expect(
      outcome.report.errors.map(\.reason).sorted() == [
        "it is compressed in a way that albumfs does not know", "it is damaged", "it is encrypted",
      ])
    #expect(found() == ["Photo/good.jpg"] && outcome.report.complete)
    // Whatever byte of the file is damaged, the import ends with a report.
    let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: scratch.path("a.zip"))))
    for cut in stride(from: 0, to: whole.count, by: 397) {
      let part = whole[..<cut]
      #expect(throws: ZipDirectory.Fault.self) {
        try ZipDirectory(size: Int64(cut)) { ZipBytes.read(part, $0, $1) }
      }
    }
    var random = SystemRandomNumberGenerator()
    for _ in 0..<400 {
      var damaged = whole
      for _ in 0..<4 {
        // The directory is at the end.
        let place = damaged.count - 1 - Int.random(in: 0..<min(300, damaged.count), using: &random)
        damaged[place] = [0, 0xFF, UInt8.random(in: 0...255, using: &random)].randomElement()!
      }
      let directory = try? ZipDirectory(size: Int64(damaged.count)) {
        ZipBytes.read(damaged[...], $0, $1)
      }
      for member in directory?.members ?? [] {
        #expect(member.content.lowerBound >= 0 && member.content.upperBound <= Int64(damaged.count))
      }
    }
  }

  /// More files than a number of 16 bits can count, and sizes in 64 bits.
  @Test func largeZipFilesAreRead() throws {
    try make(
      """
      info = ZipInfo("a.jpg"); info.extra = b""
      with z.open(info, "w", force_zip64=True) as part: part.write(b"large" * 1000)
      for i in range(65600): z.writestr(ZipInfo(f".h/{i}"), b"")
      """)
    let outcome = run()
    #expect(outcome.report.imported == 1 && outcome.report.hidden == 65_600, "\(outcome)")
    #expect(found() == ["Photo/a.jpg"])
  }

  @Test func aMoveTakesNothingOutOfAZipFile() throws {
    let outcome = try imported(
      "z.writestr('a.jpg', b'a')", options: Importer.Options(isMove: true))
    #expect(outcome.failure?.kind == .usage && found() == [])
    #expect(PathCalls.exists(scratch.path("a.zip")))
  }

  @Test func theDateOfCaptureIsReadInAZipFile() throws {
    try Data(ExifSamples.jpeg()).write(to: URL(fileURLWithPath: scratch.path("dated")))
    let outcome = try imported(
      "z.write('dated', 'dated.jpg'); z.writestr(ZipInfo('old.jpg', (2001, 2, 3, 12, 0, 0)), b'o')",
      options: Importer.Options(byDate: true, topIsAlbum: false))
    #expect(outcome.failure == nil)
    #expect(found() == ["2001-02-03/Photo/old.jpg", "2024-07-03/Photo/dated.jpg"])
  }
}

private enum ZipBytes {
  static func read(_ bytes: ArraySlice<UInt8>, _ count: Int, _ offset: Int64) -> [UInt8]? {
    guard count >= 0, offset >= 0, offset <= bytes.count else { return nil }
    return Array(bytes.dropFirst(Int(offset)).prefix(count))
  }
}

extension ScratchDirectory {
  fileprivate func isDirectory(_ name: String) -> Bool {
    (try? PlainEntry(path(name)).kind) == .directory
  }
}
