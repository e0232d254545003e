package import AlbumModel

/// The sender of a request. New inodes get its user and group.
package struct Caller: Sendable {
  package var user: UInt32
  package var group: UInt32
  /// The permissions that new inodes do not get, unless a default ACL decides.
  package var umask: UInt16
  /// The observer that sent the request. `FileSystemObserver.changed` marks the change that is its own.
  package var observer: (any FileSystemObserver)?
  /// The thread that asks, by its number in the daemon's pid namespace; 0 if that is unknown.
  package var thread: Int32
  package init(
    user: UInt32, group: UInt32, umask: UInt16 = 0, observer: (any FileSystemObserver)? = nil,
    thread: Int32 = 0
  ) {
    self.user = user
    self.group = group
    self.umask = umask
    self.observer = observer
    self.thread = thread
  }

  /// albumfs itself, for changes without a request.
  package static let daemon = Caller(user: 0, group: 0)
}

/// The changes of setattr; nil leaves a field as it is.
package struct AttributeChange: Sendable {
  package enum Time: Sendable { case now, at(Timestamp) }
  package var permissions: UInt16?
  package var owner: UInt32?
  package var group: UInt32?
  /// In bytes.
  package var size: Int64?
  package var accessed: Time?
  package var modified: Time?
  package var changed: Timestamp?
  /// The caller asks to drop set-uid and set-gid bits.
  package var killsSetID = false
  package init() {}
}

/// The access mode and the flags of an open that matter below the kernel.
package struct OpenMode: Sendable {
  package var writes: Bool
  package var truncates: Bool
  /// True if mmap(2) may share memory through the handle. A file opened only for writing cannot be mapped.
  package var canBeMapped: Bool
  package init(writes: Bool, truncates: Bool = false, canBeMapped: Bool = true) {
    self.writes = writes
    self.truncates = truncates
    self.canBeMapped = canBeMapped
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

/// The fields of statfs(2).
package struct FileSystemCapacity: Sendable {
  /// In bytes; the unit of the three after it.
  package var blockSize: Int
  package var blocks: Int64
  package var freeBlocks: Int64
  package var availableBlocks: Int64
  package var files: Int64
  package var freeFiles: Int64
  /// In bytes.
  package var nameLimit: Int
}

/// One entry of a listing.
package struct ListedEntry: Sendable {
  package var name: FileName
  package var inode: InodeNumber
  package var kind: FileKind
  /// The offset at which the listing continues after this entry: the `off` of a dirent.
  package var nextOffset: Int64
}
