internal import AlbumFileSystem
internal import AlbumModel
internal import Glibc

/// The reply to a look-up: the inode, and for how many seconds the kernel may cache the name and the
/// attributes.
struct KernelEntry {
  var attributes: Attributes
  var generation: UInt64
  var nameLifetime: Double
  var attributesLifetime: Double
}

/// Every returned `KernelEntry` counts as one lookup of the kernel, until a FORGET, or until the kernel
/// refuses the reply.
extension Driver {
  /// For how many seconds the kernel may cache what only it can change.
  private var longLifetime: Double { fileSystem.follows ? Driver.followedLifetime : 3600 }
  /// The same where another session may change it.
  private static let followedLifetime = 3.0

  func lookup(_ name: FileName, in parent: InodeNumber, for caller: KernelCaller) throws(FSError)
    -> KernelEntry
  {
    if announcements.isCaller(caller), announcements.isCurrent(name, in: parent) {
      throw FSError(.notFound)
    }
    let changes = thumbnailNames.changeCount
    let entry = try fileSystem.lookup(name, in: parent)
    if implicit.yields(entry, name, in: parent, to: caller) { throw FSError(.notFound) }
    return handOut(entry, since: changes)
  }

  /// Returns the reply for an entry that was read after `thumbnailNames.changeCount` was `changes`.
  func handOut(_ entry: Entry, since changes: UInt64) -> KernelEntry {
    var found = handOut(entry)
    if mayBeCached(entry), !fileSystem.follows {
      found.nameLifetime = thumbnailNames.lifetime(since: changes)
    }
    return found
  }

  /// True for the name of a thumbnail that stays what it is until a program makes a request.
  private func mayBeCached(_ entry: Entry) -> Bool {
    guard entry.isThumbnail, !entry.isShadowed, let album = entry.album else { return false }
    return thumbnailNames.mayBeCached && isQuiet(album) && !fileSystem.hasWriters
      && !implicit.isBeingFilled(album)
  }

  /// True if albumfs has nothing to add to the album.
  private func isQuiet(_ album: InodeNumber) -> Bool {
    activity.isQuiet(album) && !fileSystem.hasPendingThumbnails
  }

  func handOut(_ entry: Entry) -> KernelEntry {
    KernelEntry(
      attributes: owners.shown(entry.attributes), generation: inodes.count(entry.reference),
      nameLifetime: nameLifetime(entry), attributesLifetime: attributesLifetime(entry.attributes))
  }

  private func nameLifetime(_ entry: Entry) -> Double {
    if entry.isThumbnail || entry.isShadowed { return 0 }
    if entry.isImplicitDirectory, let album = entry.album, !isQuiet(album) { return 0 }
    return longLifetime
  }

  /// The lifetime is short for directories of an album, whose times and link counts albumfs changes by
  /// itself, and for open files, whose blocks the kernel does not know.
  func attributesLifetime(_ attributes: Attributes) -> Double {
    switch attributes.kind {
    case .directory: 1
    case .regular: fileSystem.isOpen(attributes.inode) ? 1 : longLifetime
    default: longLifetime
    }
  }

  /// Translates the kernel's caller. The driver is the observer that requests, so the kernel gets no message
  /// about changes that it requested.
  func asking(_ caller: KernelCaller) -> Caller {
    let ids = owners.stored(user: caller.user, group: caller.group)
    return Caller(
      user: ids.user, group: ids.group, umask: caller.umask, observer: self, thread: caller.thread)
  }

  /// `mode` as in mkdir(2).
  func makeDirectory(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, for caller: KernelCaller
  ) throws(FSError) -> KernelEntry {
    let entry = try fileSystem.makeDirectory(
      name, in: parent, permissions: UInt16(mode & 0o7777), for: asking(caller))
    let made = entry.attributes.inode
    if entry.album == made { implicit.albumMade(made, by: caller) }
    return handOut(entry)
  }

  func openDirectory(_ inode: InodeNumber, for caller: KernelCaller) throws(FSError)
    -> OpenDirectory
  {
    let directory = try fileSystem.openDirectory(inode)
    if let album = directory.album { implicit.listed(inode, of: album, by: caller) }
    return directory
  }

  /// `mode` as in mknod(2): kind and permissions.
  func makeNode(
    _ name: FileName, in parent: InodeNumber, mode: UInt32, device: UInt64,
    for caller: KernelCaller
  ) throws(FSError) -> KernelEntry {
    guard let kind = FileKind(mode: mode), kind != .directory, kind != .symlink else {
      throw FSError(.invalid)
    }
    return handOut(
      try fileSystem.makeNode(
        name, in: parent, kind: kind, permissions: UInt16(mode & 0o7777),
        device: UInt32(truncatingIfNeeded: device), for: asking(caller)))
  }

  /// `flags` as in renameat2(2); RENAME_WHITEOUT is for overlay file systems and not supported.
  func rename(
    _ from: DirectoryPlace, to: DirectoryPlace, flags: UInt32, for caller: KernelCaller
  ) throws(FSError) {
    try fileSystem.rename(
      from.name, in: from.parent, to: to.name, in: to.parent, mode: RenameMode(flags: flags),
      for: asking(caller))
  }

  /// The files whose content gets another name by a rename.
  func filesToRename(_ from: DirectoryPlace, _ to: DirectoryPlace, flags: UInt32) -> [InodeNumber] {
    let isExchange = (try? RenameMode(flags: flags))?.exchange ?? false
    return (isExchange ? [from, to] : [from]).compactMap {
      fileSystem.entry($0.name, in: $0.parent)
    }
  }
}

/// A name in a directory, as the kernel gives it.
struct DirectoryPlace: Sendable {
  var name: FileName
  var parent: InodeNumber
}

extension FileKind {
  /// From the S_IFMT bits; none of them means a regular file, as in mknod(2).
  init?(mode: UInt32) {
    let bits = UInt8((mode & 0o170000) >> 12)
    guard let kind = bits == 0 ? .regular : FileKind(rawValue: bits) else { return nil }
    self = kind
  }
}

extension RenameMode {
  /// The flags of renameat2(2), which Glibc's Swift module hides.
  init(flags: UInt32) throws(FSError) {
    let noReplace: UInt32 = 1
    let exchange: UInt32 = 2
    guard flags & ~(noReplace | exchange) == 0, flags != noReplace | exchange else {
      throw FSError(.invalid)
    }
    self.init(noReplace: flags & noReplace != 0, exchange: flags & exchange != 0)
  }
}
