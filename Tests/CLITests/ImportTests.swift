import AlbumModel
import AlbumTestSupport
import ControlProtocol
import Foundation
import Glibc
import Posix
import Testing

@testable import albumfs

/// No picture is ever lost: each step of a move fails in turn. The importer works through ordinary file
/// calls, so a plain directory stands for the mounted album here. The faults come during the sync between
/// copying and comparing.
@Suite struct ImportTests {
  private let scratch: ScratchDirectory
  private var card: String { scratch.path("card") }
  private var album: String { scratch.path("album") }

  init() throws {
    scratch = try ScratchDirectory()
    for name in ["one.jpg", "two.jpg", "three.jpg"] {
      try put("card/\(name)", "content of \(name)")
    }
  }

  private func put(_ path: String, _ text: String) throws {
    let whole = scratch.path(path)
    try FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: whole))
  }

  private func text(_ path: String) -> String? {
    (try? Data(contentsOf: URL(fileURLWithPath: scratch.path(path)))).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  private func names(_ path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: scratch.path(path))) ?? []).sorted()
  }

  /// Expects every picture to be on the card or in the album, complete.
  private func requireNothingLost() {
    for name in ["one.jpg", "two.jpg", "three.jpg"] {
      let wanted = "content of \(name)"
      #expect(
        text("card/\(name)") == wanted || text("album/Photo/\(name)") == wanted, "\(name) is lost")
    }
    for name in names("album/Photo") {
      #expect(!name.hasPrefix("."), "half a file stays: \(name)")
    }
  }

  @discardableResult
  private func move(
    _ sources: [String] = ["card"], options: Importer.Options = Importer.Options(isMove: true),
    during sync: @escaping () throws(Failure) -> Void = {},
    isStopped: @escaping () -> Bool = { false }
  ) -> (report: ImportReport, failure: Failure?) {
    var importer = Importer(
      into: album, options,
      Importer.Surroundings(synchronize: sync, isStopped: isStopped))
    var failure: Failure?
    let paths = sources.map { PlainPath(scratch.path($0)) }
    do throws(Failure) { try importer.run(paths) } catch { failure = error }
    return (importer.report, failure)
  }

  @Test func aMoveRemovesWhatIsInTheAlbum() {
    let outcome = move()
    #expect(outcome.report.imported == 3 && outcome.report.removed == 3 && outcome.failure == nil)
    #expect(names("card") == [] && names("album/Photo").count == 3)
    requireNothingLost()
  }

  @Test func aCopyThatDiffersKeepsTheOriginal() {
    for damage in ["content of two.jqg", "shorter", ""] {
      let outcome = move { try? put("album/Photo/two.jpg", damage) }
      #expect(outcome.report.errors.map(\.path) == [scratch.path("card/two.jpg")])
      #expect(outcome.report.errors.first?.reason.contains("differs") ?? false)
      #expect(names("card") == ["two.jpg"])
      // The next run copies it again, under another name.
      #expect(move().report.errors == [])
      let copies = names("album/Photo").compactMap { text("album/Photo/\($0)") }
      #expect(names("card") == [] && copies.contains("content of two.jpg"))
      try? FileManager.default.removeItem(atPath: album)
      for name in ["one.jpg", "two.jpg", "three.jpg"] {
        try? put("card/\(name)", "content of \(name)")
      }
    }
  }

  @Test func aCopyThatVanishedKeepsTheOriginal() {
    let outcome = move {
      try? FileManager.default.removeItem(atPath: scratch.path("album/Photo/two.jpg"))
    }
    #expect(outcome.report.errors.count == 1 && names("card") == ["two.jpg"])
    requireNothingLost()
  }

  @Test func anOriginalThatChangedMeanwhileStays() {
    let outcome = move { try? put("card/two.jpg", "newer content") }
    #expect(outcome.report.errors.first?.reason.contains("changed meanwhile") ?? false)
    #expect(text("card/two.jpg") == "newer content")
    #expect(text("album/Photo/two.jpg") == "content of two.jpg")
    // The next run keeps both.
    #expect(move().report.removed == 1)
    #expect(text("album/Photo/two (2).jpg") == "newer content")
  }

  @Test func anOriginalThatWasReplacedMeanwhileStays() throws {
    // The file has the same size and the same time, as a careless tool leaves it.
    let times = try PlainEntry(scratch.path("card/two.jpg")).modified.seconds
    let outcome = move {
      try? put("card/new", "kontent of two.jpg")
      _ = try? Command(
        "/usr/bin/env",
        ["sh", "-c", "touch -d @\(times) \(card)/new && mv \(card)/new \(card)/two.jpg"]
      ).run()
    }
    #expect(outcome.report.errors.count == 1)
    #expect(text("card/two.jpg") == "kontent of two.jpg")
  }

  @Test func anOriginalThatWasRemovedMeanwhileIsNoProblem() {
    let outcome = move {
      try? FileManager.default.removeItem(atPath: scratch.path("card/two.jpg"))
    }
    #expect(outcome.report.errors == [] && outcome.report.removed == 2)
    requireNothingLost()
  }

  @Test func aSyncThatFailsRemovesNothing() {
    let outcome = move { () throws(Failure) in throw Failure(.unreachable, "The daemon is gone.") }
    #expect(outcome.failure?.kind == .unreachable && !outcome.report.complete)
    #expect(outcome.report.imported == 0 && outcome.report.removed == 0)
    #expect(names("card").count == 3)
    // The next run recognises the existing copies.
    let again = move()
    #expect(again.report.duplicates == 3 && again.report.removed == 3 && names("card") == [])
    requireNothingLost()
  }

  @Test func anInterruptionKeepsWhatIsNotImported() {
    var steps = 0
    let outcome = move(isStopped: {
      steps += 1
      return steps > 4
    })
    #expect(outcome.failure?.kind == .interrupted)
    #expect(!names("card").isEmpty)
    requireNothingLost()
    #expect(move().failure == nil && names("card") == [])
    requireNothingLost()
  }

  /// Files without content take no step of their own, and there may be very many.
  @Test func anInterruptionIsSeenBetweenEmptyFiles() {
    for number in 1...50 { try? put("notes/\(number).txt", "") }
    var steps = 0
    let outcome = move(
      ["notes"], options: Importer.Options(),
      isStopped: {
        steps += 1
        return steps > 10
      })
    #expect(outcome.failure?.kind == .interrupted && outcome.report.imported < 11)
  }

  /// A file that is its own copy must not be removed as the original of that copy.
  @Test func theAlbumItselfIsNoSource() {
    _ = move()
    let outcome = move(["album/Photo", "album"])
    #expect(outcome.report.removed == 0 && !outcome.report.errors.isEmpty)
    requireNothingLost()
    #expect(names("album/Photo").count == 3)
  }

  /// A move would remove a store's files one by one, with all its spaces.
  @Test func aStoreKeepsItsFiles() throws {
    try put("card/backup/albumfs.conf", "c")
    try put("card/backup/segments/07/07c1", "s")
    for sources in [["card"], ["card/backup/segments/07"], ["card/backup/segments/07/07c1"]] {
      let outcome = move(sources)
      #expect(outcome.report.errors.map(\.path) == [scratch.path("card/backup")])
      #expect(
        text("card/backup/segments/07/07c1") == "s" && text("card/backup/albumfs.conf") == "c")
    }
    requireNothingLost()
  }

  @Test func littleRoomIsReportedAndIsNoObstacle() {
    for (room, isTold) in [(Int64(10), true), (1 << 20, false)] {
      var told = ""
      var importer = Importer(
        into: album, Importer.Options(),
        Importer.Surroundings(synchronize: {}, room: room, say: { told += $0 }))
      #expect(throws: Never.self) { try importer.run([PlainPath(card)]) }
      #expect(told.contains("has 10 bytes free") == isTold && importer.report.complete, "\(told)")
    }
  }

  @Test func theRemainsOfKilledImportsAreRemoved() throws {
    try put("album/Photo/.albumfs-partial-999999999", "half")
    try put("album/Photo/.albumfs-partial-1", "of a living process")
    _ = move()
    #expect(names("album/Photo").filter { $0.hasPrefix(".") } == [".albumfs-partial-1"])
  }

  /// Where the first process of a container waits for no others, a killed one stays as a zombie.
  @Test func theRemainsOfAKilledImportThatNobodyWaitsForAreRemoved() throws {
    // The shell becomes a program that waits for no child.
    let parent = Process()
    let output = Pipe()
    parent.executableURL = URL(fileURLWithPath: "/bin/sh")
    parent.arguments = ["-c", "true & echo $!; exec sleep infinity"]
    parent.standardOutput = output
    try parent.run()
    // It may have begun with all other signals blocked, like this thread.
    defer { _ = kill(parent.processIdentifier, SIGKILL) }
    let told = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let killed = try #require(Int32(told.trimmingCharacters(in: .newlines)))
    #expect(eventually { ProcessState.isZombie(killed) })
    try put("album/Photo/.albumfs-partial-\(killed)", "half")
    _ = move()
    #expect(names("album/Photo").filter { $0.hasPrefix(".") } == [])
  }

  @Test func contentDecidesAboutDuplicatesAndNamesStayDistinct() throws {
    try put("album/Photo/old.jpg", "content of one.jpg")
    try put("album/loose.jpg", "content of three.jpg")
    try put("album/Photo/two.jpg", "another")
    try put("card/copy of two.jpg", "content of two.jpg")
    let outcome = move(options: Importer.Options())
    #expect(outcome.report.duplicates == 3 && outcome.report.imported == 1)
    #expect(names("album/Photo") == ["copy of two.jpg", "old.jpg", "two.jpg"])
    try put("card/two.jpg", "a third")
    #expect(move(options: Importer.Options()).report.renamed.map(\.name) == ["two (2).jpg"])
  }

  /// Four photos with the same edit have four equal sidecars, and a marker file is empty.
  @Test func sidecarsAndEmptyFilesAreNobodysTwins() throws {
    for number in 1...4 {
      try put("card/IMG_\(number).jpg", "photo \(number)")
      try put("card/IMG_\(number).AAE", "<plist>the same edit</plist>")
      try put("card/\(number).jpeg", "")
      try put("card/IMG_\(number).THM", "the same black frame")
    }
    let wanted = names("card")
    let outcome = move()
    #expect(outcome.report.imported == 19 && outcome.report.removed == 19)
    #expect(names("album/Photo") == wanted && names("card") == [])
    #expect(outcome.report.files.count == 19)
    #expect(outcome.report.files.allSatisfy { $0.state == .imported && $0.removed == true })
  }

  /// Both folders of a camera have an IMG_1 with the same edit. The next run finds both.
  @Test func sidecarsOfOneNameFromTwoFoldersAreTwo() throws {
    for folder in ["100CANON", "101CANON"] {
      try put("dcim/DCIM/\(folder)/IMG_1.JPG", "photo of \(folder)")
      try put("dcim/DCIM/\(folder)/IMG_1.AAE", "the same edit")
    }
    let wanted = ["IMG_1 (2).AAE", "IMG_1 (2).JPG", "IMG_1.AAE", "IMG_1.JPG"]
    #expect(move(["dcim"], options: Importer.Options()).report.imported == 4)
    #expect(names("album/Photo") == wanted)
    #expect(move(["dcim"]).report.duplicates == 4)
    #expect(names("album/Photo") == wanted && names("dcim/DCIM/101CANON") == [])
  }

  /// Their names are on no other side.
  @Test func aTwinOfAnotherNameStaysAndIsNamed() throws {
    for name in ["one.jpg", "two.jpg", "three.jpg"] { try put("card/\(name)", "the same") }
    let outcome = move()
    #expect(outcome.report.imported == 1 && outcome.report.duplicates == 2)
    #expect(names("album/Photo") == ["one.jpg"] && names("card") == ["three.jpg", "two.jpg"])
    #expect(
      outcome.report.errors.map(\.path)
        == ["three.jpg", "two.jpg"].map { scratch.path("card/\($0)") })
    #expect(outcome.report.errors.allSatisfy { $0.reason.contains("as one.jpg") })
    // The first one of the card is gone, and the others stay again.
    #expect(move().report.errors.count == 2 && names("card").count == 2)
  }

  @Test func aTwinWithAnotherTimeModeOrAttributeStaysAndIsNamed() throws {
    for change in ["touch -d @1000000000", "chmod 600", "setfattr -n user.rating -v 5"] {
      for folder in ["100CANON", "101CANON"] {
        try put("dcim/DCIM/\(folder)/IMG_1.JPG", "the same")
        let path = scratch.path("dcim/DCIM/\(folder)/IMG_1.JPG")
        _ = try Command("/usr/bin/env", ["touch", "-d", "@900000000", path]).run()
      }
      let kept = scratch.path("dcim/DCIM/101CANON/IMG_1.JPG")
      let made = try Command("/usr/bin/env", ["sh", "-c", "\(change) \(kept)"]).run()
      try #require(made.code == 0, "\(made.errors)")
      let outcome = move(["dcim"])
      #expect(outcome.report.errors.map(\.path) == [kept], "\(change)")
      #expect(text("dcim/DCIM/101CANON/IMG_1.JPG") == "the same")
      #expect(names("dcim/DCIM/100CANON") == [])
      try FileManager.default.removeItem(atPath: scratch.path("dcim"))
      try FileManager.default.removeItem(atPath: album)
    }
  }

  @Test func theReportListsEveryFileAndWhatBecameOfIt() throws {
    try put("card/again.jpg", "content of one.jpg")
    try FileManager.default.createSymbolicLink(
      atPath: scratch.path("card/link.jpg"), withDestinationPath: "one.jpg")
    func states(_ report: ImportReport) -> [String] {
      report.files.map { "\(($0.path as NSString).lastPathComponent) \($0.state)" }.sorted()
    }
    let all = [
      "again.jpg imported", "link.jpg failed", "one.jpg present", "three.jpg imported",
      "two.jpg imported",
    ]
    let plan = move(options: Importer.Options(isDryRun: true)).report
    #expect(states(plan) == all)
    #expect(
      plan.files.first { $0.state == .present }?.copy == scratch.path("album/Photo/again.jpg"))
    let stopped = move(during: { () throws(Failure) in throw Failure(.unreachable, "Gone.") })
    #expect(states(stopped.report).filter { $0.hasSuffix("unfinished") }.count == 4)
    try FileManager.default.removeItem(atPath: album)
    let done = move().report
    #expect(states(done) == all)
    let data = try JSONEncoder().encode(done)
    let files = try #require(
      (JSONSerialization.jsonObject(with: data) as? [String: Any])?["files"] as? [[String: Any]])
    let stays = try #require(files.first { $0["state"] as? String == "present" })
    #expect(stays["removed"] as? Bool == false)
    #expect((stays["reason"] as? String)?.contains("as again.jpg") ?? false)
  }

  @Test func foldersBecomeAlbumsAndTheCamerasDoNot() throws {
    try put("source/DCIM/100CANON/IMG_1.JPG", "a")
    try put("source/DCIM/101CANON/IMG_1.JPG", "b")
    try put("source/DCIM/Camera/IMG_2.JPG", "c")
    try put("source/Trip/Photo/IMG_3.JPG", "d")
    try put("source/Trip/Thumb/IMG_3.JPG", "small")
    try put("source/Odd/Thumb/IMG_4.JPG", "e")
    try put("source/.hidden/x.jpg", "f")
    try FileManager.default.createSymbolicLink(
      atPath: scratch.path("source/link.jpg"), withDestinationPath: "Trip/Photo/IMG_3.JPG")
    let outcome = move(["source"], options: Importer.Options())
    #expect(names("album/Photo") == ["IMG_1 (2).JPG", "IMG_1.JPG"])
    #expect(names("album/Camera/Photo") == ["IMG_2.JPG"])
    #expect(names("album/Trip") == ["Photo"] && names("album/Trip/Photo") == ["IMG_3.JPG"])
    #expect(names("album/Odd/Thumb (2)/Photo") == ["IMG_4.JPG"])
    #expect(outcome.report.hidden == 1)
    #expect(outcome.report.errors.map(\.reason) == ["it is a symbolic link"])
  }

  @Test func aDryRunChangesNothing() throws {
    try put("card/again.jpg", "content of one.jpg")
    let outcome = move(options: Importer.Options(isMove: true, isDryRun: true))
    #expect(outcome.report.imported == 3 && outcome.report.duplicates == 1)
    #expect(
      outcome.report.plan?.map(\.target) == [
        "\(album)/Photo/again.jpg", "\(album)/Photo/three.jpg", "\(album)/Photo/two.jpg",
      ])
    #expect(names("card").count == 4 && !FileManager.default.fileExists(atPath: album))
  }

  @Test func theDateOfCaptureDecidesTheAlbum() throws {
    try Data(ExifSamples.jpeg()).write(to: URL(fileURLWithPath: card + "/dated.jpg"))
    let film = ExifSamples.film(stated: "2024-07-04T01:34:56+1300")
    try Data(film).write(to: URL(fileURLWithPath: card + "/film.mov"))
    _ = move(options: Importer.Options(byDate: true, topIsAlbum: false))
    #expect(names("album/2024-07-03/Photo") == ["dated.jpg"])
    #expect(names("album/2024-07-04/Photo") == ["film.mov"])
    #expect(names("album").count == 3)
  }

  @Test func theTopOfASpaceTakesNoPhotos() throws {
    try put("card/Trip/four.jpg", "4")
    let outcome = move(options: Importer.Options(isMove: true, topIsAlbum: false))
    #expect(outcome.report.errors.count == 3 && outcome.report.imported == 1)
    #expect(names("album/Trip/Photo") == ["four.jpg"])
    requireNothingLost()
  }

  @Test func aTargetsLimitsAreNamed() {
    let room = StorageCapacity(
      blockSize: 4096, totalBytes: 10000, freeBytes: 8192, availableBytes: 8192, totalFiles: 0,
      freeFiles: 0)
    let fat = ExportTarget(type: "vfat", room: room)
    func file(_ name: String) -> FileName { FileName(known: Array(name.utf8)) }
    func obstacle(_ name: String, _ size: Int64 = 1) -> String? {
      fat.obstacle(folders: [file("Trip")], name: file(name), size: size)
    }
    #expect(obstacle("10:30.jpg")?.contains("cannot have :") ?? false)
    #expect(obstacle("a\u{7}")?.contains("\\u{07}") ?? false)
    #expect(obstacle("a.")?.contains("dot") ?? false)
    #expect(obstacle("a", 1 << 32)?.contains("4 GiB") ?? false)
    #expect(obstacle("ä (2).jpg", (1 << 32) - 1) == nil)
    #expect(fat.obstacle(folders: [file("a?")], name: file("b"), size: 1) != nil)
    let other = ExportTarget(type: "ext4", room: room)
    #expect(other.obstacle(folders: [file("a?")], name: file("b."), size: 1 << 33) == nil)
    #expect(throws: Failure.self) { try other.require([4097, 1], in: PlainPath("/x")) }
    #expect((try? other.require([4096, 4096], in: PlainPath("/x"))) != nil)
  }

  @Test func aNumberFitsIntoALongName() {
    func numbering(_ name: String, _ number: Int) -> String {
      NumberedName.of(FileName(known: Array(name.utf8)), number).text
    }
    let numbered = numbering(String(repeating: "ä", count: 125) + ".jpg", 2)
    #expect(numbered.utf8.count <= 255 && numbered.hasSuffix(" (2).jpg"))
    #expect(numbering("IMG_1.jpg", 1) == "IMG_1.jpg")
    #expect(numbering("IMG_1.jpg", 2) == "IMG_1 (2).jpg")
    // No character is cut in half.
    #expect(numbered.hasPrefix("äää") && !numbered.contains("\u{FFFD}"))
    let foreign = FileName(known: [0x62, 0xE9, 0x2E, 0x6A])
    #expect(NumberedName.of(foreign, 2).bytes == [0x62, 0xE9] + Array(" (2).j".utf8))
    #expect(foreign.text == "b\\xE9.j")
    #expect(numbering(".hidden", 3) == ".hidden (3)")
  }
}
