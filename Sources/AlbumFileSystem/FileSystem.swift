import AlbumFormat
package import AlbumModel
package import AlbumStore
import Posix

/// A mounted space as POSIX sees it, albums included. All calls may come from any thread at once and
/// block on disk work at most; none waits for the kernel.
///
/// Every `Entry` that is answered counts one reference of the kernel to its inode, given back by
/// `forget`. An inode without names lives until its references and open files are gone.
///
/// No lock is held while sealing, reading records, reading /proc or calling the notifier.
package final class FileSystem: Sendable {
  /// For how long the kernel may believe what only it can change, in seconds.
  static let longLifetime = 3600.0

  let space: Space
  let notifier: any KernelNotifier
  let clock: FileSystemClock
  let contents: ContentTable
  let implicit: ImplicitEntries
  let activity: AlbumActivity
  let pendingPhotos: PendingPhotos
  let origins = ThumbnailOrigins()
  let generations = Generations()

  /// Takes over an opened space; the caller closes it after `close`.
  package init(
    space: Space, inspector: any CallerInspector, notifier: any KernelNotifier,
    clock: FileSystemClock = .system
  ) {
    self.space = space
    self.notifier = notifier
    self.clock = clock
    contents = ContentTable(space: space, clock: clock)
    implicit = ImplicitEntries(inspector: inspector)
    activity = AlbumActivity(clock: clock)
    pendingPhotos = PendingPhotos()
    if !space.isReadOnly {
      renewFormerThumbnails()
      reconsiderPhotos()
    }
    space.setBeforeBarrier { [weak self] milliseconds in
      self?.commitContents(pendingFor: milliseconds * 1_000_000)
    }
    space.setWhenRoomReturns { [weak self] in self?.reconsiderPhotos() }
  }

  /// Queues all that the space still owes a thumbnail.
  private func reconsiderPhotos() {
    var photos: [InodeNumber] = []
    forEachInode { if $0.needsThumbnail { photos.append($0.number) } }
    pendingPhotos.add(photos.sorted())
  }

  /// Puts what open files have pending into the catalog. Answers the first error of those whose
  /// content could not be stored.
  @discardableResult
  package func close() -> FSError? { commitContents(pendingFor: 0) }

  /// The same of what has been pending for so long.
  @discardableResult
  func commitContents(pendingFor nanoseconds: Int64) -> FSError? {
    let limit = clock.monotonic() - nanoseconds
    var failure: FSError?
    for content in contents.all where content.isPending(since: limit) {
      do throws(FSError) { try content.commit() } catch { failure = failure ?? error }
    }
    return failure
  }

  // MARK: References

  /// Finds a name. Counts a reference.
  package func lookup(_ name: FileName, in parent: InodeNumber, for caller: Caller) throws(FSError)
    -> Entry
  {
    let found = try space.change { (catalog: inout Catalog) throws(FSError) -> Found in
      let directory = try catalog.requireDirectory(parent)
      guard let resolution = catalog.resolve(name.bytes, in: directory) else {
        throw FSError(.notFound)
      }
      catalog.pin(resolution.index)
      return catalog.found(resolution, name, in: directory)
    }
    if yields(found, name, in: parent, to: caller) {
      forget(found.attributes.inode, count: 1)
      throw FSError(.notFound)
    }
    if found.photo != nil {
      origins.remember(found.attributes.inode, name: name, directory: parent)
    }
    return entry(found)
  }

  private func yields(
    _ found: Found, _ name: FileName, in parent: InodeNumber, to caller: Caller
  ) -> Bool {
    if found.photo != nil {
      return implicit.yields(thumbnail: name, in: parent, of: found.album, to: caller)
    }
    if found.isImplicitDirectory {
      return implicit.yields(directory: name, in: parent, of: found.album, to: caller)
    }
    return false
  }

  /// Gives back `count` references.
  package func forget(_ inode: InodeNumber, count: UInt64) {
    let isGone = space.change { catalog in
      guard let index = catalog.index(of: inode) else { return true }
      var rest = count
      while rest > 0 {
        let part = UInt32(min(rest, UInt64(UInt32.max)))
        catalog.unpin(index, count: part)
        rest -= UInt64(part)
      }
      return catalog.index(of: inode) == nil
    }
    if isGone { generations.forget(inode) }
  }

  // MARK: Entries

  /// What was found, with what decides how long it may be believed.
  struct Found {
    var attributes: Attributes
    /// The photo whose thumbnail the view shows here.
    var photo: InodeNumber?
    /// A directory that albumfs made and nobody has adopted.
    var isImplicitDirectory = false
    /// A name in a Thumb that a photo has too, or a folder's twin: it may change without the
    /// kernel's doing.
    var isShadowed = false
    var album: InodeNumber?
  }

  /// The answer for the kernel: with the size that open files know.
  func entry(_ found: Found) -> Entry {
    var name = FileSystem.longLifetime
    if found.photo != nil || found.isShadowed {
      name = 0
    } else if found.isImplicitDirectory, let album = found.album {
      let isSettled = activity.isSettled(album) && pendingPhotos.isIdle
      if !isSettled { name = 0 }
    }
    return Entry(
      attributes: current(found.attributes), generation: generations[found.attributes.inode],
      nameLifetime: name,
      attributesLifetime: attributesLifetime(found.attributes))
  }

  /// Directories of an album change by albumfs' own doing as well, in times and link counts; an open
  /// file takes space that the kernel does not count.
  func attributesLifetime(_ attributes: Attributes) -> Double {
    switch attributes.kind {
    case .directory: 1
    case .regular: contents.find(attributes.inode) == nil ? FileSystem.longLifetime : 1
    default: FileSystem.longLifetime
    }
  }

  /// Attributes with what is pending of the content.
  ///
  /// The kernel may hold more of a file that is open for writing, and says its size itself. Such a
  /// file never has 0 blocks: tar takes that for nothing but a hole, and does not read it.
  func current(_ attributes: Attributes) -> Attributes {
    guard attributes.kind == .regular, let content = contents.find(attributes.inode) else {
      return attributes
    }
    var result = attributes
    let measure = content.measure
    result.size = measure.size
    result.blocks += (measure.unstated + 511) / 512
    if result.blocks == 0 && contents.hasWriter(attributes.inode) { result.blocks = 1 }
    return result
  }

  func writable() throws(FSError) {
    try storing { () throws(StoreError) in try space.requireWritable() }
  }

  /// Something was created at a place; the kernel's belief in the album's implicit entries ends.
  func created(in album: InodeNumber?) {
    if let album { activity.createdSomething(in: album) }
  }
}

extension Catalog {
  /// A directory that still has a name; `.notDirectory` or `.notFound` otherwise.
  func requireDirectory(_ inode: InodeNumber) throws(FSError) -> InodeIndex {
    let index = try require(inode)
    let state = state(index)
    if !state.isDirectory { throw FSError(.notDirectory) }
    if state.links == 0 { throw FSError(.notFound, "the directory was removed") }
    return index
  }

  func found(_ resolution: Resolution, _ name: FileName, in directory: InodeIndex)
    -> FileSystem.Found
  {
    let state = state(resolution.index)
    var found = FileSystem.Found(attributes: attributes(resolution.index))
    found.photo = resolution.photo.map { self.state($0).number }
    guard state.isDirectory || zone(of: directory).isThumb else { return found }
    if state.marks.contains(.implicit) {
      found.isImplicitDirectory = true
      found.isShadowed = !state.isAlbumPart
    }
    found.album = zone(of: directory).album.map { self.state($0).number }
    if found.photo == nil, !state.isDirectory, photo(shownAs: name.bytes, in: directory) != nil {
      found.isShadowed = true
    }
    return found
  }
}
