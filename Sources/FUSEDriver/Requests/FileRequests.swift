internal import AlbumFileSystem
internal import AlbumModel
internal import Glibc

extension Driver {
  /// `flags` as in open(2).
  func open(_ inode: InodeNumber, flags: CInt, for caller: KernelCaller) throws(FSError)
    -> OpenFile
  {
    let mode = OpenMode(flags: flags)
    let file = try openFiles.opening { () throws(FSError) in
      if mode.truncates { try dropSetID(of: inode, for: caller) }
      return try fileSystem.open(inode, mode: mode)
    }
    if mode.writes {
      // The kernel's count of blocks is soon wrong, see `FileSystem.current`.
      pages.forgetAttributes(of: file.inode)
      // Its thumbnail will be another one.
      thumbnailNames.changed()
    }
    return file
  }

  func create(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, flags: CInt,
    for caller: KernelCaller
  ) throws(FSError) -> (KernelEntry, OpenFile) {
    try openFiles.opening { () throws(FSError) in
      if announcements.isCaller(caller) { return try announced(name, in: parent) }
      let (entry, file) = try fileSystem.create(
        name, in: parent, permissions: UInt16(mode & 0o7777), mode: OpenMode(flags: flags),
        for: asking(caller))
      return (handOut(entry), file)
    }
  }

  /// The reply to the thread that announces a thumbnail: the file that is there. Creates none.
  private func announced(_ name: FileName, in parent: InodeNumber) throws(FSError)
    -> (KernelEntry, OpenFile)
  {
    if !announcements.isCurrent(name, in: parent) { throw FSError(.notPermitted) }
    let entry = try fileSystem.lookup(name, in: parent)
    let file = try fileSystem.open(entry.attributes.inode, mode: OpenMode(flags: O_RDONLY))
    return (handOut(entry), file)
  }

  /// open(2) with O_TMPFILE: creates a file without a name, which link(2) may name as long as it is open.
  func createNameless(
    in parent: InodeNumber, mode: UInt32, flags: CInt, for caller: KernelCaller
  ) throws(FSError) -> (KernelEntry, OpenFile) {
    try openFiles.opening { () throws(FSError) in
      let (entry, file) = try fileSystem.createNameless(
        in: parent, permissions: UInt16(mode & 0o7777), mode: OpenMode(flags: flags),
        for: asking(caller))
      return (handOut(entry), file)
    }
  }

  /// Closes a file that `open`, `create` or `createNameless` returned.
  func close(_ file: OpenFile) {
    file.release()
    openFiles.closed()
  }

  /// fsync, of a handle if there is one.
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

  /// Makes the kernel write out its pages of files from `offset` on, and then calls `answer`: from another
  /// thread, or at once if there is nothing to wait for. A thread that serves a ring waits itself, because
  /// only that thread can reply. Passes false if the mount ends meanwhile. The kernel does not write them out
  /// by itself before it asks for data and holes, or before a rename.
  func withPages(
    of files: [InodeNumber], from offset: Int64 = 0,
    then answer: @escaping @Sendable (_ isWritten: Bool) -> Void
  ) {
    let written = files.filter(fileSystem.hasWriter)
    if offset < 0 || written.isEmpty { return answer(true) }
    guard let server = RingThread.current else {
      return pages.writeOut(written, from: offset, then: answer)
    }
    answer(server.waitForPages(of: written) { pages.writeOut(written, from: offset) })
  }

  /// `whence` as in lseek(2); the kernel sends only these two.
  func seek(_ file: OpenFile, from offset: Int64, whence: CInt) throws(FSError) -> Int64 {
    switch whence {
    case 3: try file.seek(to: .data, from: offset)
    case 4: try file.seek(to: .hole, from: offset)
    default: throw FSError(.invalid)
    }
  }

  /// Copies as much as one reply can report: its count has 32 bits.
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
  /// Every handle can be read, because the kernel's writeback cache fills the rest of a partly written page.
  /// O_APPEND has no effect here, because the kernel knows the size and passes the offset.
  init(flags: CInt) {
    self.init(
      writes: flags & O_ACCMODE != O_RDONLY, truncates: flags & O_TRUNC != 0,
      canBeMapped: flags & O_ACCMODE != O_WRONLY)
  }

  /// True for the flag O_TMPFILE alone of those it consists of: Glibc's Swift module hides both.
  static func isNameless(_ flags: CInt) -> Bool { flags & 0o20000000 != 0 }
}

extension AllocationMode {
  /// The flags of fallocate(2), which Glibc's Swift module hides. Collapsing or inserting a range is not
  /// supported, because it would move content that other handles have in their pages. Nor is only reserving
  /// room.
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
