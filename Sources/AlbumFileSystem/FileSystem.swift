package import AlbumModel

/// What lookup and the calls that create answer: the inode, and for how long the kernel may
/// believe the name and the attributes, in seconds.
package struct Entry: Sendable {
  package var attributes: Attributes
  package var nameLifetime: Double
  package var attributesLifetime: Double
}

/// What setattr changes; nil leaves a field as it is.
package struct AttributeChange: Sendable {
  package enum Time: Sendable { case now, at(Timestamp) }
  package var permissions: UInt16?
  package var owner: UInt32?
  package var group: UInt32?
  package var size: Int64?
  package var accessed: Time?
  package var modified: Time?
  package var changed: Timestamp?
  /// The kernel asks to drop set-uid and set-gid bits.
  package var killsSetID = false
  package init() {}
}

/// How a file is opened: the access mode and flags that matter below the kernel.
package struct OpenMode: Sendable {
  package var reads: Bool
  package var writes: Bool
  package var truncates: Bool
  package init(reads: Bool, writes: Bool, truncates: Bool = false) {
    self.reads = reads
    self.writes = writes
    self.truncates = truncates
  }
}

package struct RenameMode: Sendable {
  package var noReplace: Bool
  package var exchange: Bool
  package init(noReplace: Bool = false, exchange: Bool = false) {
    self.noReplace = noReplace
    self.exchange = exchange
  }
}

package struct AttributeMode: Sendable {
  package var create: Bool
  package var replace: Bool
  package init(create: Bool = false, replace: Bool = false) {
    self.create = create
    self.replace = replace
  }
}

package enum SeekTarget: Sendable { case data, hole }

package struct AllocationMode: Sendable {
  package var keepsSize: Bool
  package var punchesHole: Bool
  package var zeroesRange: Bool
  package init(keepsSize: Bool = false, punchesHole: Bool = false, zeroesRange: Bool = false) {
    self.keepsSize = keepsSize
    self.punchesHole = punchesHole
    self.zeroesRange = zeroesRange
  }
}

package struct FileSystemCapacity: Sendable {
  package var blockSize: Int
  package var blocks: Int64
  package var freeBlocks: Int64
  package var availableBlocks: Int64
  package var files: Int64
  package var freeFiles: Int64
  package var nameLimit: Int
}

/// One entry of a listing.
package struct ListedEntry: Sendable {
  package var name: FileName
  package var inode: InodeNumber
  package var kind: FileKind
  /// Where the listing goes on behind this entry: the `off` of a dirent.
  package var nextOffset: Int64
}

/// A mounted space as POSIX sees it, albums included. All calls may come from any thread at once and
/// block on disk work at most; none waits for the kernel.
///
/// Every `Entry` that is answered counts one reference of the kernel to its inode, given back by
/// `forget`. An inode without names lives until its references and open files are gone.
package final class FileSystem: Sendable {
  /// Finds a name. Counts a reference.
  package func lookup(_ name: FileName, in parent: InodeNumber, for caller: Caller) throws(FSError)
    -> Entry
  {
    fatalError()
  }

  /// Gives back `count` references.
  package func forget(_ inode: InodeNumber, count: UInt64) {
    fatalError()
  }

  /// stat. Answers the attributes and how long they may be believed, in seconds.
  package func attributes(of inode: InodeNumber) throws(FSError) -> (Attributes, lifetime: Double) {
    fatalError()
  }

  /// chmod, chown, truncate, utimens. Permissions were checked by the kernel.
  package func change(_ change: AttributeChange, of inode: InodeNumber, for caller: Caller)
    throws(FSError) -> (Attributes, lifetime: Double)
  {
    fatalError()
  }

  /// mknod: regular file, FIFO, socket or device node.
  package func makeNode(
    _ name: FileName, in parent: InodeNumber, kind: FileKind, permissions: UInt16, device: UInt32,
    for caller: Caller
  ) throws(FSError) -> Entry {
    fatalError()
  }

  /// mkdir: an album in the root or in an album, else a plain directory.
  package func makeDirectory(
    _ name: FileName, in parent: InodeNumber, permissions: UInt16, for caller: Caller
  ) throws(FSError) -> Entry {
    fatalError()
  }

  package func makeSymlink(
    _ name: FileName, in parent: InodeNumber, target: [UInt8], for caller: Caller
  ) throws(FSError) -> Entry {
    fatalError()
  }

  package func link(
    _ inode: InodeNumber, as name: FileName, in parent: InodeNumber, for caller: Caller
  ) throws(FSError) -> Entry {
    fatalError()
  }

  package func unlink(_ name: FileName, in parent: InodeNumber, for caller: Caller) throws(FSError)
  {
    fatalError()
  }

  package func removeDirectory(_ name: FileName, in parent: InodeNumber, for caller: Caller)
    throws(FSError)
  {
    fatalError()
  }

  package func rename(
    _ name: FileName, in parent: InodeNumber, to newName: FileName, in newParent: InodeNumber,
    mode: RenameMode, for caller: Caller
  ) throws(FSError) {
    fatalError()
  }

  package func symlinkTarget(of inode: InodeNumber) throws(FSError) -> [UInt8] {
    fatalError()
  }

  /// creat: makes a regular file and opens it. The caller ends with `OpenFile.release`.
  package func create(
    _ name: FileName, in parent: InodeNumber, permissions: UInt16, mode: OpenMode,
    for caller: Caller
  ) throws(FSError) -> (Entry, OpenFile) {
    fatalError()
  }

  /// Opens a regular file. The caller ends with `OpenFile.release`.
  package func open(_ inode: InodeNumber, mode: OpenMode, for caller: Caller) throws(FSError)
    -> OpenFile
  {
    fatalError()
  }

  package func openDirectory(_ inode: InodeNumber, for caller: Caller) throws(FSError)
    -> OpenDirectory
  {
    fatalError()
  }

  /// statfs, of the disk below.
  package func capacity() throws(FSError) -> FileSystemCapacity {
    fatalError()
  }

  package func setExtendedAttribute(
    _ name: [UInt8], to value: [UInt8], of inode: InodeNumber, mode: AttributeMode,
    for caller: Caller
  ) throws(FSError) {
    fatalError()
  }

  package func extendedAttribute(_ name: [UInt8], of inode: InodeNumber) throws(FSError) -> [UInt8]
  {
    fatalError()
  }

  package func extendedAttributeNames(of inode: InodeNumber) throws(FSError) -> [[UInt8]] {
    fatalError()
  }

  package func removeExtendedAttribute(_ name: [UInt8], of inode: InodeNumber, for caller: Caller)
    throws(FSError)
  {
    fatalError()
  }

  /// fsync of a file without a handle, or of a directory: returns when it is on disk.
  package func synchronize(_ inode: InodeNumber) throws(FSError) {
    fatalError()
  }

  /// copy_file_range: shares sealed records where it can. Answers the bytes copied.
  package func copyRange(
    of source: OpenFile, at sourceOffset: Int64, to destination: OpenFile,
    at destinationOffset: Int64, length: Int64
  ) throws(FSError) -> Int64 {
    fatalError()
  }

}

/// One open regular file. Any thread.
package final class OpenFile: Sendable {
  package let inode: InodeNumber
  init(inode: InodeNumber) { self.inode = inode }

  /// Reads until the buffer is full or the file ends; answers the bytes read. Up to
  /// `ReadHeadroom.byteCount` bytes before the buffer must be writable and are clobbered.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FSError)
    -> Int
  {
    fatalError()
  }

  /// Takes all of it over, or throws.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FSError) {
    fatalError()
  }

  /// close(2) of one descriptor: what was written survives the daemon's end when this returns.
  package func flush() throws(FSError) { fatalError() }

  /// fsync(2).
  package func synchronize() throws(FSError) { fatalError() }

  /// The last close of this handle. Writes out what flush did not see.
  package func release() { fatalError() }

  /// fallocate(2).
  package func allocate(at offset: Int64, length: Int64, mode: AllocationMode) throws(FSError) {
    fatalError()
  }

  /// lseek(2) with SEEK_DATA or SEEK_HOLE.
  package func seek(to target: SeekTarget, from offset: Int64) throws(FSError) -> Int64 {
    fatalError()
  }
}

/// One open directory.
package final class OpenDirectory: Sendable {
  package let inode: InodeNumber
  init(inode: InodeNumber) { self.inode = inode }

  /// Calls `body` with the entries behind `offset` (0: the beginning), `.` and `..` first, until it
  /// answers false; that entry comes first in the next call.
  package func list(from offset: Int64, _ body: (ListedEntry) -> Bool) throws(FSError) {
    fatalError()
  }

  /// The same with each entry's attributes; nil for `.` and `..`. Counts a reference for each entry
  /// with attributes for which `body` answered true.
  package func listWithAttributes(from offset: Int64, _ body: (ListedEntry, Entry?) -> Bool)
    throws(FSError)
  {
    fatalError()
  }

  package func release() { fatalError() }
}
