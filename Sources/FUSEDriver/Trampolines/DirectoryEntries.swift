internal import AlbumFileSystem
internal import AlbumModel
internal import CFuse3
internal import Glibc

/// A listing in the kernel's format, in the calling thread's buffer. Valid until the reply to its request.
@unsafe struct DirectoryEntries {
  private let buffer: UnsafeMutableRawBufferPointer
  private let request: fuse_req_t
  private var count = 0

  /// `size` is the room that the kernel has, in bytes.
  init(for request: fuse_req_t, size: Int) {
    unsafe self.request = request
    unsafe buffer = ReplyBuffer.forThisThread(size)
  }

  var bytes: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }

  /// Adds an entry. Returns false, and adds nothing, if there is no room.
  mutating func add(_ entry: ListedEntry) -> Bool {
    var status = unsafe DirectoryEntries.status(of: entry)
    return unsafe add(named: entry.name) { request, room, size, name in
      unsafe fuse_add_direntry(request, room, size, name, &status, off_t(entry.nextOffset))
    }
  }

  /// Does the same with attributes. `.` and `..` have none, because the kernel counts no lookup for them.
  mutating func add(_ entry: ListedEntry, _ found: KernelEntry?) -> Bool {
    var parameters = fuse_entry_param()
    if let found {
      parameters = fuse_entry_param(found)
    } else {
      parameters.attr = unsafe DirectoryEntries.status(of: entry)
    }
    return unsafe add(named: entry.name) { request, room, size, name in
      unsafe fuse_add_direntry_plus(
        request, room, size, name, &parameters, off_t(entry.nextOffset))
    }
  }

  private mutating func add(
    named name: FileName,
    _ write: (fuse_req_t, UnsafeMutablePointer<CChar>?, Int, UnsafePointer<CChar>) -> Int
  ) -> Bool {
    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
    let room = unsafe rest.baseAddress?.assumingMemoryBound(to: CChar.self)
    let needed = unsafe DirectoryEntries.withCString(name) {
      unsafe write(request, room, rest.count, $0)
    }
    if needed > rest.count { return false }
    unsafe count += needed
    return true
  }

  /// The attributes of a plain entry: number and kind.
  private static func status(of entry: ListedEntry) -> stat {
    var status = stat()
    status.st_ino = ino_t(entry.inode.rawValue)
    status.st_mode = UInt32(entry.kind.rawValue) << 12
    return status
  }

  private static func withCString<Result>(
    _ name: FileName, _ body: (UnsafePointer<CChar>) -> Result
  ) -> Result {
    unsafe withUnsafeTemporaryAllocation(
      byteCount: FileName.maximumLength + 1, alignment: 1
    ) { room in
      unsafe room.copyBytes(from: name.bytes)
      unsafe room[name.bytes.count] = 0
      return unsafe body(room.baseAddress!.assumingMemoryBound(to: CChar.self))
    }
  }
}

extension DirectoryEntries {
  /// The inodes for which a listing with attributes (struct fuse_direntplus) counts a lookup each. If the
  /// kernel refused the reply, the driver subtracts these lookups again.
  static func references(in bytes: UnsafeRawBufferPointer) -> [InodeNumber] {
    let attributesSize = 128
    let headerSize = attributesSize + 24
    var result: [InodeNumber] = []
    var offset = 0
    while offset + headerSize <= bytes.count {
      let inode = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let nameLength = unsafe bytes.loadUnaligned(
        fromByteOffset: offset + attributesSize + 16, as: UInt32.self)
      if inode != 0 { result.append(InodeNumber(inode)) }
      offset += (headerSize + Int(nameLength) + 7) & ~7
    }
    return result
  }
}
