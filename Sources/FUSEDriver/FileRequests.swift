internal import AlbumFileSystem
internal import AlbumModel
internal import Glibc

extension Driver {
  /// `flags` as in open(2).
  func open(_ inode: InodeNumber, flags: CInt, for caller: KernelCaller) throws(FSError)
    -> OpenFile
  {
    let mode = OpenMode(flags: flags)
    if mode.truncates { try dropSetID(of: inode, for: caller) }
    let file = try fileSystem.open(inode, mode: mode)
    if mode.writes {
      // What the kernel knows of its blocks is not true for long: see `FileSystem.current`.
      pages.forgetAttributes(of: file.inode)
    }
    return file
  }

  func create(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, flags: CInt,
    for caller: KernelCaller
  ) throws(FSError) -> (KernelEntry, OpenFile) {
    let (entry, file) = try fileSystem.create(
      name, in: parent, permissions: UInt16(mode & 0o7777), mode: OpenMode(flags: flags),
      for: asking(caller))
    return (handOut(entry), file)
  }

  /// fsync, of a handle where there is one.
  func synchronize(_ inode: InodeNumber, _ file: OpenFile?) throws(FSError) {
    if let file { try file.synchronize() } else { try fileSystem.synchronize(inode) }
  }

  /// `mode` as in fallocate(2).
  func allocate(
    _ file: OpenFile, at offset: Int64, length: Int64, mode: CInt, for caller: KernelCaller
  ) throws(FSError) {
    let mode = try AllocationMode(flags: mode)
    try dropSetID(of: file.inode, for: caller)
    try file.allocate(at: offset, length: length, mode: mode)
  }

  /// Has the kernel write out what it holds of files from `offset` on, and calls `answer` after that:
  /// from another thread, or at once where there is nothing to wait for; with false where the mount ends
  /// meanwhile. The kernel does not do so by itself before it asks for data and holes, nor before a rename.
  func withPages(
    of files: [InodeNumber], from offset: Int64 = 0,
    then answer: @escaping @Sendable (_ isWritten: Bool) -> Void
  ) {
    let written = files.filter(fileSystem.hasWriter)
    if offset < 0 || written.isEmpty { return answer(true) }
    pages.writeOut(written, from: offset, then: answer)
  }

  /// `whence` as in lseek(2); the kernel asks for these two alone.
  func seek(_ file: OpenFile, from offset: Int64, whence: CInt) throws(FSError) -> Int64 {
    switch whence {
    case 3: try file.seek(to: .data, from: offset)
    case 4: try file.seek(to: .hole, from: offset)
    default: throw FSError(.invalid)
    }
  }

  /// Copies as much as one answer can tell: its count has 32 bits.
  func copyRange(
    of source: OpenFile, at sourceOffset: Int64, to destination: OpenFile,
    at destinationOffset: Int64, length: Int, flags: CInt, for caller: KernelCaller
  ) throws(FSError) -> Int64 {
    if flags != 0 { throw FSError(.invalid) }
    try dropSetID(of: destination.inode, for: caller)
    return try fileSystem.copyRange(
      of: source, at: sourceOffset, to: destination, at: destinationOffset,
      length: Int64(min(length, 1 << 30)))
  }
}

extension OpenMode {
  /// Every handle can be read: the kernel's writeback cache fills the rest of a page that is written
  /// in part. O_APPEND means nothing here, since the kernel knows the size and gives the offset.
  init(flags: CInt) {
    self.init(
      writes: flags & O_ACCMODE != O_RDONLY, truncates: flags & O_TRUNC != 0,
      canBeMapped: flags & O_ACCMODE != O_WRONLY)
  }
}

extension AllocationMode {
  /// The flags of fallocate(2), which Glibc's Swift module hides. To collapse or insert a range is
  /// not supported: it would move what other handles hold in their pages. Nor is to reserve room alone.
  init(flags: CInt) throws(FSError) {
    let keepSize: CInt = 1
    let punchHole: CInt = 2
    let zeroRange: CInt = 16
    guard flags & ~(keepSize | punchHole | zeroRange) == 0, flags & (punchHole | zeroRange) != 0
    else { throw FSError(.notSupported) }
    self.init(
      keepsSize: flags & keepSize != 0, punchesHole: flags & punchHole != 0,
      zeroesRange: flags & zeroRange != 0)
  }
}
