import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

import struct Synchronization.Atomic

@testable import AlbumStore
@testable import FUSEDriver

/// An inode that the kernel knows stays until the kernel forgets it, and costs the space nothing.
struct KernelInodesTests {
  let space: KernelSpace
  init() throws {
    space = try KernelSpace()
    space.space.deletedPolicy.isOn = false
    try space.mkdir(".plain")
  }

  @Test func aRemovedFileStaysUntilTheKernelHasForgottenEachLookup() throws {
    try space.write("text", to: ".plain/f")
    let entry = try space.lookup(".plain/f")
    _ = try space.lookup(".plain/f")
    _ = try space.lookup(".plain/f")
    let inode = entry.attributes.inode
    try space.unlink(".plain/f")
    #expect(try space.driver.fileSystem.attributes(of: inode).links == 0)
    space.driver.inodes.forget(inode, count: 2)
    #expect(space.has(inode))
    space.forget(entry)
    #expect(!space.has(inode))
    space.driver.inodes.forget(inode, count: 5)
  }

  @Test func aFileThatWasForgottenIsThereUnderItsName() throws {
    try space.write("text", to: ".plain/f")
    let entry = try space.lookup(".plain/f")
    space.forget(entry)
    #expect(try space.text(".plain/f") == "text")
    #expect(try space.lookup(".plain/f").attributes.inode == entry.attributes.inode)
  }

  @Test(arguments: [true, false]) func anOpenFileStaysWhoeverLetsGoFirst(_ isForgottenFirst: Bool)
    throws
  {
    let file = try space.create(".plain/f")
    try file.put([1, 2, 3], at: 0)
    let entry = try space.lookup(".plain/f")
    try space.unlink(".plain/f")
    let steps: [() -> Void] = [{ space.forget(entry) }, { file.release() }]
    let order = isForgottenFirst ? steps : steps.reversed()
    order[0]()
    #expect(try space.driver.fileSystem.attributes(of: file.inode).size == 3)
    order[1]()
    #expect(!space.has(file.inode))
  }

  @Test func directoriesAndThumbnailsThatTheKernelKnowsStayToo() throws {
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    try space.mkdir("Trip/Photo/Day")
    let known = try ["Trip/Thumb/a.jpg", "Trip/Photo/Day", "Trip/Thumb/Day"].map(space.lookup)
    try space.write("b", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    try space.rmdir("Trip/Photo/Day")
    for entry in known { #expect(space.has(entry.attributes.inode)) }
    for entry in known { space.forget(entry) }
    for entry in known { #expect(!space.has(entry.attributes.inode)) }
  }

  @Test func inodesThatTheKernelKnowsGoWithItsConnection() throws {
    try space.write("text", to: ".plain/f")
    let inode = try space.lookup(".plain/f").attributes.inode
    try space.unlink(".plain/f")
    try space.remount()
    #expect(!space.has(inode))
    #expect(space.space.status.recovery.orphans == 0)
  }

  @Test func lookupsAndForgetsChangeNoCatalogAndWakeNoThread() throws {
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    try space.space.commit()
    let frame = space.space.historyEnd.frame
    let keeper = space.space.context.keeper
    let counter = Counter()
    try keeper.start("test") {
      counter.add()
      return nil
    }
    defer { keeper.stop() }
    #expect(counter.waits(for: 1), "what was changed before wakes it")
    for path in ["Trip", "Trip/Photo", "Trip/Photo/a.jpg", "Trip/Thumb", "Trip/Thumb/a.jpg"] {
      let entry = try space.lookup(path)
      _ = try space.lookup(path)
      space.driver.inodes.forget(entry.attributes.inode, count: 2)
      _ = try space.list("Trip/Photo")
    }
    _ = refusal { _ = try space.lookup("Trip/none") }
    #expect(!counter.waits(for: 2, milliseconds: 400))
    #expect(!space.space.read { $0.hasChanges })
    try space.space.commit()
    #expect(space.space.historyEnd.frame == frame)
    try space.mkdir("Other")
    #expect(counter.waits(for: 2), "a change wakes it")
  }

  // MARK: Notifications

  @Test func theKernelLearnsOfChangesThatItDidNotRequest() throws {
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/Day")
    try space.write("a", to: "Trip/Photo/a.jpg")
    try space.rename("Trip/Photo/a.jpg", "Trip/Photo/b.jpg")
    try space.unlink("Trip/Photo/b.jpg")
    #expect(space.notified == [], "it asked for all of this")
    try space.rmdir("Trip/Photo/Day")
    #expect(space.notified == ["Day"], "the folder in Thumb has gone with it")
    try space.write("b", to: "Trip/Photo/b.jpg")
    try space.driver.fileSystem.unlink(FileName("b.jpg"), in: space.number("Trip/Photo"))
    #expect(space.notified == ["Day", "b.jpg"], "another caller removed it")
  }

  @Test func theKernelForgetsLostContentUnderAllNamesOfItsFile() throws {
    let file = try space.create(".plain/f")
    try space.link(".plain/f", ".plain/twin")
    let before = try space.lookup(".plain/f")
    space.disk.isFull.store(true, ordering: .relaxed)
    let chunk = [UInt8](repeating: 5, count: 65_536)
    var end: Int64 = 0
    while refusal({ try file.put(chunk, at: end) }) == nil { end += Int64(chunk.count) }
    #expect(refusal { try file.flush() } == .noSpace)
    #expect(space.notified == [], "the handle still has all of it")
    file.release()
    #expect(space.notified == ["f", "twin"])
    for name in [".plain/f", ".plain/twin"] {
      let after = try space.lookup(name)
      #expect(after.attributes.inode == before.attributes.inode)
      #expect(after.generation != before.generation, "\(name): the kernel goes on with its pages")
    }
  }
}

/// Counts the rounds of a thread.
private final class Counter: Sendable {
  private let count = Monitor(0, rank: .test)

  func add() {
    count.withLock { $0 += 1 }
    count.notifyAll()
  }

  /// Waits for the round of this number; returns false if it does not come in time.
  func waits(for number: Int, milliseconds: Int64 = 20_000) -> Bool {
    count.waiting(until: .now + .milliseconds(milliseconds)) { $0 >= number ? () : nil } != nil
  }
}
