import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

import struct Synchronization.Atomic

@testable import AlbumStore

// The guarantees that programs rely on when they write, read and close files.

struct ContentTests {
  let space: TestSpace
  init() throws {
    space = try TestSpace()
    try space.mkdir(".plain")
  }

  @Test func threadsThatWriteOneFileAtOnceLoseNothing() async throws {
    var random = SeededRandom()
    let parts = (0..<8).map { _ in random.bytes(1 << 20) }
    let file = try space.create(".plain/f")
    await withTaskGroup(of: Void.self) { group in
      for (number, part) in parts.enumerated() {
        group.addTask {
          for start in stride(from: 0, to: part.count, by: 100_000) {
            let piece = Array(part[start..<min(start + 100_000, part.count)])
            let offset = number << 20 + start
            try? file.put(piece, at: Int64(offset))
          }
        }
      }
    }
    try file.flush()
    #expect(try file.get(8 << 20, at: 0) == Array(parts.joined()))
    file.release()
    try space.remount()
    #expect(try space.read(".plain/f") == Array(parts.joined()))
  }

  /// All processors seal a large write. The file lies in order all the same, so that it is read in long
  /// stretches: only a record that was cut to fill a segment ends one.
  @Test func aLargeWriteLiesInOrderInEachSegment() throws {
    var random = SeededRandom()
    for number in 0..<30 {
      let content = random.bytes((1 << 20) - number * 1000)
      try space.write(content, to: ".plain/\(number)")
      let inode = try space.number(".plain/\(number)")
      let extents = try #require(
        space.space.extents(from: 0, to: .max) { $0.index(of: inode) })
      for (extent, next) in zip(extents, extents.dropFirst()) where extent.segment == next.segment {
        #expect(extent.length < 65_536, "file \(number) at \(next.offset)")
        #expect(extent.grid < next.grid)
      }
      #expect(try space.read(".plain/\(number)") == content)
    }
  }

  @Test func closedFilesSurviveTheDaemonsEnd() throws {
    try space.write("closed", to: ".plain/a")
    let open = try space.create(".plain/b")
    try open.put(Array("not closed".utf8), at: 0)
    try space.space.commit()
    try space.crash()
    #expect(try space.text(".plain/a") == "closed")
    #expect(try space.read(".plain/b") == [], "never a length without its bytes")
  }

  /// fchmod(2), futimens(2) and fsetxattr(2) need no descriptor that writes.
  @Test func whatAReaderChangedOfAFileSurvivesTheDaemonsEndOnceItIsClosed() throws {
    try space.write("text", to: ".plain/a")
    try space.space.barrier()
    let reader = try space.open(".plain/a")
    var change = AttributeChange()
    change.permissions = 0o640
    change.modified = .at(Timestamp(seconds: 981_173_106))
    _ = try space.fileSystem.change(change, of: reader.inode)
    try space.fileSystem.setExtendedAttribute(
      Array("user.note".utf8), to: [1], of: reader.inode, mode: AttributeMode())
    try reader.flush()
    try space.crash()
    let status = try space.status(".plain/a")
    #expect(status.permissions == 0o640 && status.modified == Timestamp(seconds: 981_173_106))
    #expect(
      try space.fileSystem.extendedAttribute(Array("user.note".utf8), of: status.inode) == [1])
  }

  @Test func aFileThatWasMadeByADescriptorThatOnlyReadsIsThereOnceItIsClosed() throws {
    let (parent, name) = try space.split(".plain/new")
    let file = try space.fileSystem.create(
      name, in: parent, permissions: 0o644, mode: OpenMode(writes: false), for: TestSpace.me
    ).1
    try file.flush()
    try space.crash()
    #expect(space.exists(".plain/new"))
  }

  /// rsync gives a file its name after it has closed it, and then removes the original.
  @Test func aRenameOfAClosedFileSurvivesTheDaemonsEnd() throws {
    try space.mkdir("Trip")
    try space.write("photo", to: "Trip/Photo/.a.jpg.X1y2Z3")
    try space.rename("Trip/Photo/.a.jpg.X1y2Z3", "Trip/Photo/a.jpg")
    try space.crash()
    #expect(try space.list("Trip/Photo") == ["a.jpg"])
  }

  @Test func aRenameOnAFullDiskSucceedsAsBefore() throws {
    try space.write("text", to: ".plain/a")
    space.disk.isFull.store(true, ordering: .relaxed)
    try space.rename(".plain/a", ".plain/b")
    #expect(try space.text(".plain/b") == "text")
  }

  @Test func aLongRecordingIsThereUpToItsLastSeconds() throws {
    let recording = try space.create(".plain/video")
    try recording.put([UInt8](repeating: 7, count: 100_000), at: 0)
    space.clock.advance(seconds: 3)
    space.space.durability.callBeforeBarrier(pendingFor: Housekeeping.barrierInterval)
    try space.space.commit()
    try recording.put([UInt8](repeating: 8, count: 50), at: 100_000)
    try space.crash()
    #expect(try space.read(".plain/video") == [UInt8](repeating: 7, count: 100_000))
  }

  @Test func fsyncOfAnyDirectoryHasEverythingOnDisk() throws {
    let one = try space.create(".plain/one")
    try one.put(Array("one".utf8), at: 0)
    try space.mkdir("Trip")
    let other = try space.create("Trip/Photo/other")
    try other.put(Array("other".utf8), at: 0)
    try space.fileSystem.synchronize(space.number("Trip/Thumb"))
    try space.crash()
    #expect(try space.text(".plain/one") == "one")
    #expect(try space.text("Trip/Photo/other") == "other")
  }

  @Test func aRenameCarriesTheContentWithIt() throws {
    try space.write("old", to: ".plain/document")
    let file = try space.create(".plain/document.new")
    try file.put(Array("new".utf8), at: 0)
    try space.rename(".plain/document.new", ".plain/document")
    try space.space.commit()
    try space.crash()
    #expect(try space.text(".plain/document") == "new")
  }

  @Test func anExchangeCarriesTheContentOfBothFilesWithIt() throws {
    let names = [".plain/one", ".plain/other"]
    let files = try names.map { try space.create($0) }
    for (file, name) in zip(files, names) { try file.put(Array(name.utf8), at: 0) }
    try space.rename(names[0], names[1], exchange: true)
    try space.space.commit()
    try space.crash()
    #expect(try space.text(names[0]) == names[1])
    #expect(try space.text(names[1]) == names[0])
  }

  @Test func aFileThatWasRemovedWhileOpenWorksOn() throws {
    space.keepNoDeletedFiles()
    let file = try space.create(".plain/f")
    var entry: Entry? = try space.lookup(".plain/f")
    let inode = try #require(entry).attributes.inode
    try file.put([1, 2, 3], at: 0)
    try space.unlink(".plain/f")
    try file.put([4], at: 3)
    var change = AttributeChange()
    change.permissions = 0o600
    let status = try space.fileSystem.change(change, of: inode)
    #expect(status.links == 0)
    #expect(status.size == 4)
    try space.fileSystem.synchronize(inode)
    #expect(try file.get(10, at: 0) == [1, 2, 3, 4])
    file.release()
    #expect(try space.fileSystem.attributes(of: inode).size == 4, "still referred to")
    withExtendedLifetime(entry) {}
    entry = nil
    #expect(refusal { try space.fileSystem.attributes(of: inode) } == .stale)
  }

  @Test func aFileCanBeAsLongAsAnyAndTakesNoSpaceForHoles() throws {
    let file = try space.create(".plain/sparse")
    var change = AttributeChange()
    change.size = 1_000_000_000_000_000
    _ = try space.fileSystem.change(change, of: file.inode)
    try file.put([1], at: 500_000_000_000_000)
    #expect(try file.get(3, at: 499_999_999_999_999) == [0, 1, 0])
    #expect(try file.seek(to: .data, from: 0) == 500_000_000_000_000)
    #expect(try file.seek(to: .hole, from: 500_000_000_000_000) == 500_000_000_000_001)
    #expect(refusal { try file.seek(to: .data, from: 500_000_000_000_001) } == .noSuchOffset)
    #expect(try space.status(".plain/sparse").blocks < 10)
    #expect(refusal { try file.put([1, 2], at: Int64.max - 1) } == .tooBig)
    file.release()
  }

  @Test func contentThatWasCutOffDoesNotComeBack() throws {
    try space.write([UInt8](repeating: 9, count: 100_000), to: ".plain/f")
    let file = try space.open(".plain/f", writes: true)
    var change = AttributeChange()
    change.size = 10
    _ = try space.fileSystem.change(change, of: file.inode)
    try file.put([1], at: 99_999)
    #expect(try file.get(100_000, at: 10) == [UInt8](repeating: 0, count: 99_989) + [1])
    file.release()
  }

  @Test func statKnowsOfBytesThatNobodyHasSealedYet() throws {
    let file = try space.create(".plain/f")
    try file.put([UInt8](repeating: 1, count: 5000), at: 0)
    let status = try space.status(".plain/f")
    #expect(status.size == 5000)
    #expect(status.blocks >= 10, "tar takes a file without blocks for a hole")
    file.release()
  }

  @Test func aFullDiskIsReportedAndNothingVanishes() throws {
    let file = try space.create(".plain/f")
    space.disk.isFull.store(true, ordering: .relaxed)
    var random = SeededRandom()
    let content = random.bytes(2 << 20)
    var written = 0
    let error = refusal {
      while written < content.count {
        try file.put(Array(content[written..<written + 65_536]), at: Int64(written))
        written += 65_536
      }
    }
    #expect(error == .noSpace)
    #expect(refusal { try file.synchronize() } == .noSpace)
    #expect(refusal { try file.flush() } == .noSpace, "said again as long as it is so")
    space.disk.isFull.store(false, ordering: .relaxed)
    try file.put(Array(content[written...]), at: Int64(written))
    try file.synchronize()
    file.release()
    try space.crash()
    #expect(try space.read(".plain/f") == content, "seed \(random.seed)")
  }

  @Test func bytesThatCouldNotBeStoredDoNotLengthenTheFile() throws {
    let file = try space.create(".plain/f")
    space.disk.isFull.store(true, ordering: .relaxed)
    var end: Int64 = 0
    let chunk = [UInt8](repeating: 5, count: 65_536)
    while refusal({ try file.put(chunk, at: end) }) == nil { end += 65_536 }
    file.release()
    #expect(try space.read(".plain/f") == [UInt8](repeating: 5, count: Int(end)))
  }

  /// Writes in chunks until the disk is full; returns the accepted bytes.
  private func fill(_ file: OpenFile) -> [UInt8] {
    space.disk.isFull.store(true, ordering: .relaxed)
    var end = 0
    let chunk = [UInt8](repeating: 5, count: 65_536)
    while refusal({ try file.put(chunk, at: Int64(end)) }) == nil { end += chunk.count }
    return [UInt8](repeating: 5, count: end)
  }

  @Test func observersLearnThatNotAllOfAFileCouldBeStoredWhenItIsClosed() throws {
    let file = try space.create(".plain/f")
    let lost = FileSystemChange.contentLost(file.inode)
    _ = fill(file)
    #expect(refusal { try file.flush() } == .noSpace)
    #expect(!space.observer.changes.contains(lost), "the handle still has all of it")
    file.release()
    #expect(space.observer.changes.filter { $0 == lost }.count == 1)
  }

  @Test func theLastCloseDiscardsWhatCouldNotBeStored() throws {
    let file = try space.create(".plain/f")
    let reader = try space.open(".plain/f")
    let written = fill(file)
    #expect(refusal { try file.flush() } == .noSpace)
    file.release()
    #expect(try reader.get(written.count, at: 0) == written)
    let lost = FileSystemChange.contentLost(reader.inode)
    #expect(!space.observer.changes.contains(lost))
    reader.release()
    #expect(space.observer.changes.contains(lost))
    #expect(try space.read(".plain/f") == written)
    #expect(try space.status(".plain/f").size == Int64(written.count))
    space.disk.isFull.store(false, ordering: .relaxed)
    try space.remount()
    #expect(try space.read(".plain/f") == written)
  }

  @Test func aFileInVeryManyPiecesIsJoinedWhenItIsClosed() throws {
    let file = try space.create(".plain/f")
    var model = [UInt8](repeating: 0, count: 400_000)
    for piece in (0..<400).shuffled() {
      let bytes = [UInt8](repeating: UInt8(piece % 251 + 1), count: 1000)
      try file.put(bytes, at: Int64(piece * 1000))
      model.replaceSubrange(piece * 1000..<piece * 1000 + 1000, with: bytes)
      try file.flush()
    }
    let inode = file.inode
    func pieces() -> Int { space.space.read { $0.extentCount(of: $0.index(of: inode)!) } }
    #expect(pieces() > 64)
    file.release()
    #expect(pieces() < 10)
    #expect(try space.read(".plain/f") == model)
  }

  @Test func aCopyWithinTheMountSharesSealedContent() throws {
    var random = SeededRandom()
    let content = random.bytes(300_000)
    try space.write(content, to: ".plain/a")
    let from = try space.open(".plain/a")
    let to = try space.create(".plain/b")
    #expect(
      try space.fileSystem.copyRange(of: from, at: 10, to: to, at: 5, length: 1_000_000) == 299_990)
    from.release()
    to.release()
    try space.unlink(".plain/a")
    #expect(try space.read(".plain/b") == [0, 0, 0, 0, 0] + content[10...])
  }

  @Test func writingLeavesTheTimesToTheKernel() throws {
    try space.write("a", to: ".plain/f")
    var change = AttributeChange()
    change.modified = .at(Timestamp(seconds: 1, nanoseconds: 5))
    let file = try space.open(".plain/f", writes: true)
    _ = try space.fileSystem.change(change, of: file.inode)
    try file.put([7], at: 0)
    try file.flush()
    file.release()
    #expect(try space.status(".plain/f").modified == Timestamp(seconds: 1, nanoseconds: 5))
  }
}
