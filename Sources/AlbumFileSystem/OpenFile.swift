import AlbumFormat
package import AlbumModel
import AlbumStore
import Posix

/// One open regular file. Any thread.
package final class OpenFile: Sendable {
  package let inode: InodeNumber
  private let content: FileContent
  private let fileSystem: FileSystem
  private let writes: Bool
  /// Set for a file of the past.
  private let past: PastContent?
  /// True if this open made or emptied the file.
  private let beginsContent: Bool
  /// True if every write goes to the store at once, so that write(2) returns ENOSPC. This is for a disk that
  /// is nearly full and a file that was opened only for writing, as by a shell, which ignores errors of
  /// close. A file that can be mapped needs the kernel's pages: its writer gets the error from fsync or
  /// close.
  package let writesThrough: Bool

  init(
    _ content: FileContent, of fileSystem: FileSystem, mode: OpenMode, beginsContent: Bool = false,
    past: PastContent? = nil
  ) {
    self.past = past
    self.beginsContent = beginsContent
    inode = content.inode
    self.content = content
    self.fileSystem = fileSystem
    writes = mode.writes || mode.truncates
    writesThrough = writes && !mode.canBeMapped && fileSystem.space.isNearlyFull
  }

  /// Reads until the buffer is full or the file ends; returns the number of bytes. Up to
  /// `ReadHeadroom.byteCount` bytes before the buffer must be writable and are restored.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FSError)
    -> Int
  {
    if let past { return try unsafe past.read(into: buffer, at: offset) }
    return try unsafe content.read(into: buffer, at: offset)
  }

  /// Takes all bytes, or throws.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FSError) {
    do throws(FSError) {
      try fileSystem.writable()
      try unsafe content.write(bytes, at: offset)
      if writesThrough { try publishAtOnce() }
    } catch {
      content.recordLoss()
      throw error
    }
  }

  /// For a write that no page of the kernel holds. The kernel sets the times only of files that have pages.
  private func publishAtOnce() throws(FSError) {
    try content.publish()
    let (index, time) = (content.index, fileSystem.clock.now())
    fileSystem.space.change { $0.touch(index, time) }
  }

  /// close(2) of one descriptor. When it returns, what was written through it survives the end of the daemon.
  /// So does every change of the inode: fchmod(2) and futimens(2) need no descriptor that writes.
  package func flush() throws(FSError) {
    if !writes { return try content.owed.settle(commit) }
    try content.publish()
    markComplete()
    try commit()
  }

  private func commit() throws(FSError) {
    try storing { () throws(StoreError) in try fileSystem.space.commit() }
  }

  /// fsync(2).
  package func synchronize() throws(FSError) {
    markComplete()
    try fileSystem.synchronize(inode)
  }

  /// Records that the writer has finished the file: its content counts as complete.
  private func markComplete() {
    if !beginsContent || fileSystem.space.isReadOnly { return }
    let index = content.index
    fileSystem.space.change { catalog in
      if catalog.state(index).marks.contains(.beingWritten) {
        catalog.update(index) { $0.marks.remove(.beingWritten) }
      }
    }
  }

  /// The last close of this handle. Writes out what came after the last flush.
  package func release() { fileSystem.release(inode, writes: writes) }

  /// fallocate(2), to punch holes and to write zeros. It refuses to reserve room, because every write, also
  /// over older bytes, goes into new records. posix_fallocate(3) then writes zeros.
  package func allocate(at offset: Int64, length: Int64, mode: AllocationMode) throws(FSError) {
    try fileSystem.writable()
    if offset < 0 || length <= 0 { throw FSError(.invalid) }
    if length > Int64.max - offset { throw FSError(.tooBig) }
    if !mode.punchesHole && !mode.zeroesRange {
      throw FSError(.notSupported, "room cannot be reserved")
    }
    if mode.punchesHole && (mode.zeroesRange || !mode.keepsSize) { throw FSError(.notSupported) }
    let end = offset + length
    let time = fileSystem.clock.now()
    let index = content.index
    try content.change(from: offset) { catalog, size in
      catalog.replaceExtents(of: index, from: offset, to: min(end, size), with: [])
      catalog.touch(index, time)
      return mode.keepsSize ? size : max(size, end)
    }
  }

  /// lseek(2) with SEEK_DATA or SEEK_HOLE.
  package func seek(to target: SeekTarget, from offset: Int64) throws(FSError) -> Int64 {
    if let past { return try past.seek(to: target, from: offset) }
    return try content.seek(to: target, from: offset)
  }

  /// Shares another file's content with this one.
  fileprivate func share(
    _ source: OpenFile, from: Int64, to: Int64, at destination: Int64
  ) throws(FSError) -> Int64 {
    // The kernel then reads and writes.
    if source.past != nil { throw FSError(.crossDevice) }
    let time = fileSystem.clock.now()
    return try content.share(source.content, from: from, to: to, at: destination, time: time)
  }
}

extension FileSystem {
  /// Opens a regular file. The caller ends with `OpenFile.release`.
  package func open(_ inode: InodeNumber, mode: OpenMode) throws(FSError)
    -> OpenFile
  {
    if inode.isPast { return try openPast(inode, mode: mode) }
    return try open(inode, mode: mode, isNew: false)
  }

  /// `isNew` is true if the same call made the file, marked as being written.
  func open(_ inode: InodeNumber, mode: OpenMode, isNew: Bool) throws(FSError) -> OpenFile {
    let writes = mode.writes || mode.truncates
    if writes {
      try writable()
      try makeOwn(inode)
    }
    let content = try contents.acquire(inode, writes: writes)
    if isNew { content.owed.add() }
    if mode.truncates {
      do throws(FSError) {
        let time = clock.now()
        try content.truncate(to: 0) { catalog in
          catalog.touch(content.index, time)
          catalog.update(content.index) { $0.marks.insert(.beingWritten) }
        }
      } catch {
        release(inode, writes: writes)
        throw error
      }
    }
    return OpenFile(content, of: self, mode: mode, beginsContent: isNew || mode.truncates)
  }

  /// True while a handle of the file is open for writing.
  package func hasWriter(_ inode: InodeNumber) -> Bool { contents.hasWriter(inode) }

  /// The files that are open for writing.
  package var writtenInodes: [InodeNumber] { contents.writtenInodes }

  /// True if a handle that writes is open.
  package var hasWriters: Bool { contents.hasWriters }

  /// Ends one handle of an inode.
  func release(_ inode: InodeNumber, writes: Bool) {
    if let content = contents.leave(inode), writes || leavesWork(content) { finish(content) }
    if contents.release(inode, writes: writes) {
      notifyObservers(.written(inode))
      considerPhoto(inode)
    }
  }

  /// True if a handle for reading was the last one, after handles for writing failed.
  private func leavesWork(_ content: FileContent) -> Bool {
    contents.whenUnused(content) { !content.isFinished } == true
  }

  /// Writes out pending content. With the last handle it discards what cannot be stored, which flush and
  /// fsync have reported.
  private func finish(_ content: FileContent) {
    do throws(FSError) {
      try content.publish()
      if contents.whenUnused(content, {}) != nil { try content.joinPieces() }
    } catch {
      if contents.whenUnused(content, content.abandonFailed) == true { try? content.publish() }
    }
    if contents.whenUnused(content, content.takeLoss) == true {
      notifyObservers(.contentLost(content.inode))
    }
  }

  /// copy_file_range(2): shares sealed records where it can. Returns the number of bytes copied. For a source
  /// in very many pieces that may be fewer than requested; the caller asks for the rest.
  package func copyRange(
    of source: OpenFile, at sourceOffset: Int64, to destination: OpenFile,
    at destinationOffset: Int64, length: Int64
  ) throws(FSError) -> Int64 {
    try writable()
    if sourceOffset < 0 || destinationOffset < 0 || length < 0 { throw FSError(.invalid) }
    if length == 0 { return 0 }
    let from = sourceOffset
    let count = min(length, Int64.max - sourceOffset)
    if count > Int64.max - destinationOffset { throw FSError(.tooBig) }
    if source.inode == destination.inode, from < destinationOffset + count,
      destinationOffset < from + count
    {
      throw FSError(.invalid)
    }
    return try destination.share(source, from: from, to: from + count, at: destinationOffset)
  }
}
