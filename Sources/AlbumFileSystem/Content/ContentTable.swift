import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

import struct Synchronization.Atomic

/// The contents of all open files, by inode. Any thread.
final class ContentTable: Sendable {
  private struct Slot {
    let content: FileContent
    let reference: InodeReference
    /// The number of handles that are open or being released.
    var users: Int
    /// The number of open handles.
    var handles: Int
    var writers: Int
  }

  /// One part of the table.
  private final class Shard: Sendable {
    let slots = Mutex<[InodeNumber: Slot]>([:], rank: .openFiles)
  }

  private let shards = (0..<16).map { _ in Shard() }
  private let count = Atomic<Int>(0)
  private let space: Space
  private let clock: FileSystemClock
  private let pool = ChunkPool()
  private let pace = VersionPace()
  private let help = SealingHelp()

  init(space: Space, clock: FileSystemClock) {
    self.space = space
    self.clock = clock
  }

  /// Ends the threads that help to seal. Everything is sealed.
  func stop() { help.stop() }

  private func shard(_ inode: InodeNumber) -> Shard { shards[Int(inode.rawValue % 16)] }

  /// Returns the content of a regular file for one more handle. The caller ends it with `leave` and
  /// `release`.
  func acquire(_ inode: InodeNumber, writes: Bool) throws(FSError) -> FileContent {
    try shard(inode).slots.withLock { (slots) throws(FSError) -> FileContent in
      if slots[inode] == nil {
        slots[inode] = try make(inode)
        count.wrappingAdd(1, ordering: .relaxed)
      }
      slots[inode]!.users += 1
      slots[inode]!.handles += 1
      if writes { slots[inode]!.writers += 1 }
      return slots[inode]!.content
    }
  }

  private func make(_ inode: InodeNumber) throws(FSError) -> Slot {
    let (index, size, reference) = try space.read {
      (catalog: borrowing Catalog) throws(FSError) -> (InodeIndex, Int64, InodeReference) in
      let index = try InodeIndex(inode, in: catalog)
      switch catalog.state(index).kind {
      case .regular: break
      case .directory: throw FSError(.isDirectory)
      default: throw FSError(.invalid)
      }
      return (index, catalog.state(index).size, InodeReference(index, in: catalog, of: space))
    }
    let content = FileContent(
      inode, index: index, size: size, space: space, pool: pool, help: help,
      clock: clock, pace: pace)
    return Slot(content: content, reference: reference, users: 0, handles: 0, writers: 0)
  }

  /// The content of an open inode; nil if it is not open.
  func find(_ inode: InodeNumber) -> FileContent? {
    if count.load(ordering: .relaxed) == 0 { return nil }
    return shard(inode).slots.withLock { $0[inode]?.content }
  }

  /// True while a handle of the inode is open for writing.
  func hasWriter(_ inode: InodeNumber) -> Bool {
    shard(inode).slots.withLock { ($0[inode]?.writers ?? 0) > 0 }
  }

  /// The files that are open for writing, each as of some moment during the call.
  var writtenInodes: [InodeNumber] {
    shards.flatMap { shard in
      shard.slots.withLock { slots in slots.filter { $0.value.writers > 0 }.map(\.key) }
    }
  }

  var hasWriters: Bool {
    shards.contains { shard in
      shard.slots.withLock { slots in slots.contains { $0.value.writers > 0 } }
    }
  }

  /// Begins to release a handle, which can report no error any more.
  func leave(_ inode: InodeNumber) -> FileContent? {
    shard(inode).slots.withLock { slots in
      slots[inode]?.handles -= 1
      return slots[inode]?.content
    }
  }

  /// Runs `body` while no handle of the content is open or can be opened. Returns nil if one is open.
  func whenUnused<Result>(_ content: FileContent, _ body: () -> Result) -> Result? {
    shard(content.inode).slots.withLock { slots in
      slots[content.inode]?.handles == 0 ? body() : nil
    }
  }

  /// Completes what `leave` began. Returns true if the handle was the last for writing.
  func release(_ inode: InodeNumber, writes: Bool) -> Bool {
    // The slot and its reference end after the lock is released.
    let (removed, wasLastWriter) = shard(inode).slots.withLock { slots -> (Slot?, Bool) in
      guard var slot = slots[inode] else { return (nil, false) }
      slot.users -= 1
      if writes { slot.writers -= 1 }
      slots[inode] = slot.users == 0 ? nil : slot
      return (slot.users == 0 ? slot : nil, writes && slot.writers == 0)
    }
    if removed != nil { count.wrappingSubtract(1, ordering: .relaxed) }
    return wasLastWriter
  }

  /// Locks of the table, and of the contents in it, that threads hold. Does not wait, and so leaves out the
  /// contents behind a lock of the table that a thread holds.
  var heldLocks: [HeldLock] {
    shards.flatMap { shard -> [HeldLock] in
      guard let open = shard.slots.withLockIfFree({ slots in slots.values.map(\.content) }) else {
        return [shard.slots.held(as: "open files")].compactMap { $0 }
      }
      return open.compactMap { $0.monitor.held(as: "content of node \($0.inode.rawValue)") }
    }
  }

  /// All open contents, each as of some moment during the call.
  var all: [FileContent] {
    shards.flatMap { shard in shard.slots.withLock { slots in slots.values.map(\.content) } }
  }
}
