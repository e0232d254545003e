import AlbumFormat
package import AlbumModel
import AlbumStore
import Posix

extension FileSystem {
  /// stat(2).
  package func attributes(of inode: InodeNumber) throws(FSError) -> Attributes {
    let inode = node(inode)
    if inode.isPast { return try pastAttributes(of: inode) }
    return current(
      try space.read { (catalog: borrowing Catalog) throws(FSError) -> Attributes in
        catalog.attributes(try InodeIndex(inode, in: catalog))
      })
  }

  /// chmod(2), chown(2), truncate(2) and utimensat(2). The kernel has checked permissions.
  package func change(_ change: AttributeChange, of inode: InodeNumber)
    throws(FSError) -> Attributes
  {
    try writable()
    let now = clock.now()
    defer { oweCommit(of: inode) }
    if let size = change.size {
      if size < 0 { throw FSError(.invalid) }
      try makeOwn(inode)
      let content = try contents.acquire(inode, writes: true)
      defer { release(inode, writes: true) }
      try content.truncate(to: size) { catalog in
        change.apply(to: content.index, now: now, &catalog)
      }
    } else {
      if change.modified != nil { thumbTimes.forget(inode) }
      // The kernel sends a change for each file that it writes, and those make no point.
      let moment = change.isOfUser ? space.removalMoment(now) : nil
      let changesAccess = change.permissions != nil || change.owner != nil || change.group != nil
      let (attributes, twin) = try space.change {
        (catalog: inout Catalog) throws(FSError) -> (Attributes, InodeNumber?) in
        let index = try InodeIndex(inode, in: catalog)
        if let moment { catalog.beginChange(of: index, at: moment) }
        change.apply(to: index, now: now, &catalog)
        let twin = changesAccess ? Twins.resemble(index, time: now, &catalog) : nil
        return (catalog.attributes(index), twin)
      }
      if let twin { notifyObservers(.attributes(of: twin)) }
      return current(attributes)
    }
    return try attributes(of: inode)
  }

  /// Makes the next close of the inode commit what has just changed in the catalog.
  func oweCommit(of inode: InodeNumber) { contents.find(inode)?.owed.add() }

  package func symlinkTarget(of inode: InodeNumber) throws(FSError) -> [UInt8] {
    if inode.isPast { return try pastSymlinkTarget(of: inode) }
    return try space.read { (catalog: borrowing Catalog) throws(FSError) -> [UInt8] in
      let index = try InodeIndex(inode, in: catalog)
      if catalog.state(index).kind != .symlink { throw FSError(.invalid) }
      return catalog.symlinkTarget(index)
    }
  }

  /// fsync(2) of a file without a handle, or of a directory. Returns when it is on disk.
  ///
  /// The kernel passes on neither sync(2) nor syncfs(2), so fsync of any directory does their work: when it
  /// returns, everything that was closed before is on disk, and everything that albumfs has received of open
  /// files.
  package func synchronize(_ inode: InodeNumber) throws(FSError) {
    let isDirectory = space.read { catalog in
      catalog.index(of: inode).map { catalog.state($0).isDirectory } ?? false
    }
    if isDirectory {
      if let failure = publishContents(pendingFor: .zero) { throw failure }
    } else {
      try contents.find(inode)?.publish()
    }
    try storing { () throws(StoreError) in try space.barrier() }
  }

  /// statfs(2) of the disk that holds the store. What a full disk may cost of the past counts as free room.
  package func capacity() throws(FSError) -> FileSystemCapacity {
    let disk = try storing { () throws(StoreError) in try space.capacity() }
    let block = Int64(max(disk.blockSize, 512))
    let givenUp = space.historyBytesGivenUp / block
    let blocks = disk.totalBytes / block
    return FileSystemCapacity(
      blockSize: Int(block), blocks: blocks,
      freeBlocks: min(blocks, (disk.freeBytes / block).saturatingAdd(givenUp)),
      availableBlocks: min(blocks, (disk.availableBytes / block).saturatingAdd(givenUp)),
      files: disk.totalFiles,
      freeFiles: disk.freeFiles, nameLimit: FileName.maximumLength)
  }
}

extension AttributeChange {
  /// False for times that the kernel sends for its own writes: it never sends one of access with them.
  fileprivate var isOfUser: Bool {
    permissions != nil || owner != nil || group != nil || accessed != nil && modified != nil
  }

  /// Applies everything in a change except the size. ctime changes with every change.
  func apply(to index: InodeIndex, now: Timestamp, _ catalog: inout Catalog) {
    catalog.update(index) { state in
      if let permissions { state.permissions = permissions }
      if let owner { state.owner = owner }
      if let group { state.group = group }
      let isGivenAway = (owner != nil || group != nil) && permissions == nil
      if (killsSetID || isGivenAway) && !state.isDirectory {
        state.permissions = SetIDBits.dropped(from: state.permissions)
      }
      if let accessed { state.accessed = accessed.resolved(now) }
      if let modified {
        state.modified = modified.resolved(now)
      } else if size != nil {
        state.modified = now
      }
      state.changed = changed ?? now
    }
    if let thumbnail = catalog.thumbnail(of: index) {
      ThumbView.resemble(thumbnail, index, &catalog)
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
