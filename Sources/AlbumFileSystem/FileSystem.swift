import AlbumFormat
package import AlbumModel
package import AlbumStore
package import Posix

/// A space as POSIX sees it, albums included: the same for the kernel's requests, which FUSEDriver brings,
/// and for every other caller. All calls may come from any thread at once and block on disk work at most.
///
/// An inode without names lives until what uses it is gone: open files, open directories, and the
/// `InodeReference` that comes with each `Entry`.
///
/// No lock is held while sealing, reading records or calling an observer.
package final class FileSystem: Sendable {
  let space: Space
  package let clock: FileSystemClock
  let contents: ContentTable
  let pendingPhotos: PendingPhotos
  let origins = ThumbnailOrigins()
  let observers = Observers()
  package let meant = MeantFiles()
  let thumbTimes = ThumbTimes()
  let past: PastNodes
  /// True if the root is that of a point, and not that of the present.
  package let showsPoint: Bool

  /// Takes over an opened space; the caller closes it after `close`. `trace` gets the photos that begin
  /// to wait for their thumbnail. With `point`, it shows a read-only space as it was then.
  package init(
    space: Space, clock: FileSystemClock = .system, at point: InodeNumber? = nil,
    trace: EventTracer? = nil
  ) {
    past = PastNodes(root: point)
    showsPoint = point != nil
    pendingPhotos = PendingPhotos(trace: trace)
    self.space = space
    self.clock = clock
    contents = ContentTable(space: space, clock: clock)
    if !space.isReadOnly {
      renewFormerThumbnails()
      reconsiderPhotos()
    }
    space.setBeforeBarrier { [weak self] duration in
      self?.publishContents(pendingFor: duration)
    }
    space.setWhenRoomReturns { [weak self] in self?.reconsiderPhotos() }
  }

  /// Queues all photos that still need a thumbnail.
  private func reconsiderPhotos() {
    var photos: [InodeNumber] = []
    forEachInode { if $0.needsThumbnail { photos.append($0.number) } }
    learnHomes(of: photos)
    pendingPhotos.add(photos.sorted(), .backlog)
  }

  /// Puts the pending changes of open files into the catalog. Returns the first error of a file whose content
  /// could not be stored.
  @discardableResult
  package func close() -> FSError? {
    let failure = publishContents(pendingFor: .zero)
    contents.stop()
    keepThumbTimes()
    return failure
  }

  /// Puts the pending changes of open files into the catalog, so that a snapshot shows them.
  package func publishAll() -> FSError? { publishContents(pendingFor: .zero) }

  /// Does the same for changes that have been pending for this long.
  @discardableResult
  func publishContents(pendingFor duration: Duration) -> FSError? {
    let limit = clock.monotonic() - duration
    var failure: FSError?
    for content in contents.all where content.isPending(since: limit) {
      do throws(FSError) { try content.publish() } catch { failure = failure ?? error }
    }
    return failure
  }

  /// True if another session may change what this one shows.
  package var follows: Bool { space.follows }

  /// The photos that wait now; nil if that cannot be seen at once. Does not wait.
  package var photoGlance: PhotoGlance? { pendingPhotos.glance }

  /// Locks of open files that threads hold. Does not wait.
  package var heldLocks: [HeldLock] { contents.heldLocks }

  /// Adds an observer of changes, and keeps it until `remove`.
  package func add(_ observer: any FileSystemObserver) { observers.add(observer) }

  package func remove(_ observer: any FileSystemObserver) { observers.remove(observer) }

  // MARK: Entries

  /// Finds a name.
  package func lookup(_ name: FileName, in parent: InodeNumber) throws(FSError) -> Entry {
    if let entry = try lookupInPast(name, in: parent) { return entry }
    let found = try space.read { (catalog: borrowing Catalog) throws(FSError) -> Entry? in
      let directory = try InodeIndex(directory: parent, in: catalog)
      guard let resolution = ThumbView.resolve(name, in: directory, catalog) else { return nil }
      return Entry(resolution, name, in: directory, catalog, of: space)
    }
    guard let found else {
      wantedInVain(name, in: parent)
      throw FSError(.notFound)
    }
    if found.isThumbnail {
      origins.remember(found.attributes.inode, name: name, directory: parent)
    }
    return current(found)
  }

  /// The inode that an entry of a directory names; nil if there is no such entry.
  package func entry(_ name: FileName, in parent: InodeNumber) -> InodeNumber? {
    space.read { catalog in
      catalog.index(of: parent).flatMap { catalog.child(name, of: $0) }
        .map { catalog.state($0).number }
    }
  }

  /// True while a handle of the file is open.
  package func isOpen(_ file: InodeNumber) -> Bool { contents.find(file) != nil }

  /// Returns the entry with the size and times of pending content.
  func current(_ entry: Entry) -> Entry {
    var entry = entry
    entry.attributes = current(entry.attributes)
    return entry
  }

  /// Returns the attributes with the size and times of pending content, and with the times of a directory of
  /// Thumb.
  ///
  /// The kernel may hold more content of a file that is open for writing, and then reports the size itself.
  /// Such a file never has 0 blocks, because tar takes 0 blocks for a file without content and does not read
  /// it.
  func current(_ attributes: Attributes) -> Attributes {
    if attributes.kind == .directory, let time = thumbTimes.time(of: attributes.inode) {
      var result = attributes
      result.modified = max(result.modified, time)
      result.changed = max(result.changed, time)
      return result
    }
    guard attributes.kind == .regular, !follows, let content = contents.find(attributes.inode)
    else {
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
}
