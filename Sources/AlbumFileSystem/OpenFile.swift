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
  /// Whether the file was made or emptied by this open.
  private let beginsContent: Bool
  /// What is written goes to the store at once, so that write(2) tells who has no room for it: on a
  /// disk that is nearly full, where the file was opened only to be written, as the shell does, which
  /// does not look whether close succeeds. Past the kernel's pages no memory can be shared, so whoever
  /// can map the file is told by fsync and close.
  package let writesThrough: Bool

  init(_ content: FileContent, of fileSystem: FileSystem, mode: OpenMode, beginsContent: Bool) {
    self.beginsContent = beginsContent
    inode = content.inode
    self.content = content
    self.fileSystem = fileSystem
    writes = mode.writes || mode.truncates
    writesThrough = writes && !mode.canBeMapped && fileSystem.space.isNearlyFull
  }

  /// Reads until the buffer is full or the file ends; answers the bytes read. Up to
  /// `ReadHeadroom.byteCount` bytes before the buffer must be writable and are clobbered.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FSError)
    -> Int
  {
    try unsafe content.read(into: buffer, at: offset)
  }

  /// Takes all of it over, or throws.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FSError) {
    do throws(FSError) {
      try fileSystem.writable()
      try unsafe content.write(bytes, at: offset)
      if writesThrough { try content.commit() }
    } catch {
      content.noteLoss()
      throw error
    }
  }

  /// close(2) of one descriptor: what was written survives the daemon's end when this returns.
  package func flush() throws(FSError) {
    if !writes { return }
    try content.commit()
    settleContent()
    try storing { () throws(StoreError) in try fileSystem.space.commit() }
  }

  /// fsync(2).
  package func synchronize() throws(FSError) {
    settleContent()
    try fileSystem.synchronize(inode)
  }

  /// What the file is now is what its writer meant it to be.
  private func settleContent() {
    if !beginsContent || fileSystem.space.isReadOnly { return }
    let index = content.index
    fileSystem.space.change { catalog in
      if catalog.state(index).marks.contains(.beingWritten) {
        catalog.update(index) { $0.marks.remove(.beingWritten) }
      }
    }
  }

  /// The last close of this handle. Writes out what flush did not see.
  package func release() { fileSystem.release(inode, writes: writes) }

  /// fallocate(2), to punch holes and to zero. Room cannot be reserved, and is not said to be: what is
  /// written, also over something older, goes into new records. posix_fallocate(3) then writes zeros.
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
    try content.change { catalog, size in
      catalog.replaceExtents(of: index, from: offset, to: min(end, size), with: [])
      catalog.touch(index, time)
      return mode.keepsSize ? size : max(size, end)
    }
  }

  /// lseek(2) with SEEK_DATA or SEEK_HOLE.
  package func seek(to target: SeekTarget, from offset: Int64) throws(FSError) -> Int64 {
    try content.seek(to: target, from: offset)
  }

  /// Another file's content, shared with this one.
  fileprivate func share(
    _ source: OpenFile, from: Int64, to: Int64, at destination: Int64
  ) throws(FSError) -> Int64 {
    let time = fileSystem.clock.now()
    return try content.share(source.content, from: from, to: to, at: destination, time: time)
  }
}

extension FileSystem {
  /// Opens a regular file. The caller ends with `OpenFile.release`.
  package func open(_ inode: InodeNumber, mode: OpenMode) throws(FSError)
    -> OpenFile
  {
    try open(inode, mode: mode, isNew: false)
  }

  /// `isNew`: the file was made to be opened.
  func open(_ inode: InodeNumber, mode: OpenMode, isNew: Bool) throws(FSError) -> OpenFile {
    let writes = mode.writes || mode.truncates
    if writes {
      try writable()
      try makeOwn(inode)
    }
    let content = try contents.acquire(inode, writes: writes)
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
    if isNew, mode.writes {
      space.change { catalog in
        catalog.update(content.index) { $0.marks.insert(.beingWritten) }
      }
    }
    return OpenFile(content, of: self, mode: mode, beginsContent: isNew || mode.truncates)
  }

  /// True while somebody has a file open for writing.
  package func hasWriter(_ inode: InodeNumber) -> Bool { contents.hasWriter(inode) }

  /// The files that are open for writing.
  package var writtenInodes: [InodeNumber] { contents.writtenInodes }

  /// Ends one handle of an inode.
  func release(_ inode: InodeNumber, writes: Bool) {
    if let content = contents.leave(inode), writes || leavesWork(content) { finish(content) }
    if contents.release(inode, writes: writes) {
      observers.tell(.written(inode))
      considerPhoto(inode)
    }
  }

  /// Whether a handle that was only read was the last, and those that were written failed.
  private func leavesWork(_ content: FileContent) -> Bool {
    contents.whenUnused(content) { !content.isFinished } == true
  }

  /// Writes out what is pending. What cannot be stored is given up with the last handle: flush and
  /// fsync have said so.
  private func finish(_ content: FileContent) {
    do throws(FSError) {
      try content.commit()
      if contents.whenUnused(content, {}) != nil { try content.joinPieces() }
    } catch {
      if contents.whenUnused(content, content.abandonFailed) == true { try? content.commit() }
    }
    if contents.whenUnused(content, content.takeLoss) == true {
      observers.tell(.contentLost(content.inode))
    }
  }

  /// copy_file_range: shares sealed records where it can. Answers the bytes copied, of a source in
  /// very many pieces perhaps not all that there are: the caller asks for the rest.
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
