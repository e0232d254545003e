import AlbumFormat
package import AlbumModel
import AlbumStore
import Posix

extension FileSystem {
  /// stat. Returns the attributes, and how long the kernel may cache them, in seconds.
  package func attributes(of inode: InodeNumber) throws(FSError) -> (Attributes, lifetime: Double) {
    let attributes = try space.read { (catalog: borrowing Catalog) throws(FSError) -> Attributes in
      catalog.attributes(try catalog.require(inode))
    }
    return (current(attributes), attributesLifetime(attributes))
  }

  /// chmod, chown, truncate, utimens. The kernel has checked permissions.
  package func change(_ change: AttributeChange, of inode: InodeNumber)
    throws(FSError) -> (Attributes, lifetime: Double)
  {
    try writable()
    let now = clock.now()
    if let size = change.size {
      if size < 0 { throw FSError(.invalid) }
      try makeOwn(inode)
      let content = try contents.acquire(inode, writes: true)
      defer { release(inode, writes: true) }
      try content.truncate(to: size) { catalog in
        catalog.apply(change, to: content.index, now: now)
      }
    } else {
      try space.change { (catalog: inout Catalog) throws(FSError) in
        catalog.apply(change, to: try catalog.require(inode), now: now)
      }
    }
    return try attributes(of: inode)
  }

  package func symlinkTarget(of inode: InodeNumber) throws(FSError) -> [UInt8] {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> [UInt8] in
      let index = try catalog.require(inode)
      if catalog.state(index).kind != .symlink { throw FSError(.invalid) }
      return catalog.symlinkTarget(index)
    }
  }

  /// fsync of a file without a handle, or of a directory: returns when it is on disk.
  ///
  /// The kernel passes on neither sync(2) nor syncfs(2), so fsync of any directory does their work: when it
  /// returns, everything that was closed before is on disk, and everything that albumfs has received of open
  /// files.
  package func synchronize(_ inode: InodeNumber) throws(FSError) {
    let isDirectory = space.read { catalog in
      catalog.index(of: inode).map { catalog.state($0).isDirectory } ?? false
    }
    if isDirectory {
      if let failure = commitContents(pendingFor: 0) { throw failure }
    } else {
      try contents.find(inode)?.commit()
    }
    try storing { () throws(StoreError) in try space.barrier() }
  }

  /// statfs of the disk below.
  package func capacity() throws(FSError) -> FileSystemCapacity {
    let disk = try storing { () throws(StoreError) in try space.capacity() }
    let block = Int64(max(disk.blockSize, 512))
    return FileSystemCapacity(
      blockSize: Int(block), blocks: disk.totalBytes / block, freeBlocks: disk.freeBytes / block,
      availableBlocks: disk.availableBytes / block, files: disk.totalFiles,
      freeFiles: disk.freeFiles, nameLimit: FileName.maximumLength)
  }
}

extension Catalog {
  /// Applies everything in a change except the size. ctime changes with every change.
  mutating func apply(_ change: AttributeChange, to index: InodeIndex, now: Timestamp) {
    update(index) { state in
      if let permissions = change.permissions { state.permissions = permissions }
      if let owner = change.owner { state.owner = owner }
      if let group = change.group { state.group = group }
      let isGivenAway = (change.owner != nil || change.group != nil) && change.permissions == nil
      if (change.killsSetID || isGivenAway) && !state.isDirectory {
        state.permissions = SetIDBits.dropped(from: state.permissions)
      }
      if let time = change.accessed { state.accessed = time.resolved(now) }
      if let time = change.modified {
        state.modified = time.resolved(now)
      } else if change.size != nil {
        state.modified = now
      }
      state.changed = change.changed ?? now
    }
    if let thumbnail = thumbnail(of: index) { resemble(thumbnail, index) }
  }

  /// Gives a thumbnail its photo's owner, mode and times.
  mutating func resemble(_ thumbnail: InodeIndex, _ photo: InodeIndex) {
    let model = state(photo)
    update(thumbnail) { state in
      state.permissions = model.permissions & 0o666
      state.owner = model.owner
      state.group = model.group
      state.accessed = model.accessed
      state.modified = model.modified
      state.changed = model.changed
    }
  }
}

extension AttributeChange.Time {
  fileprivate func resolved(_ now: Timestamp) -> Timestamp {
    switch self {
    case .now: now
    case .at(let time): time
    }
  }
}
