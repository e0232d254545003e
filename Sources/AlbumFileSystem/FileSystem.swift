import AlbumFormat
package import AlbumModel
package import AlbumStore
import Posix

/// Where the file system takes its times from; tests bring their own.
package struct FileSystemClock: Sendable {
  /// The time of day, for time stamps, on the clock of the kernel's own.
  package var now: @Sendable () -> Timestamp
  /// Nanoseconds on a clock that nobody sets, for how long something was.
  package var monotonic: @Sendable () -> Int64

  package init(
    now: @escaping @Sendable () -> Timestamp, monotonic: @escaping @Sendable () -> Int64
  ) {
    self.now = now
    self.monotonic = monotonic
  }

  package static let system = FileSystemClock(
    now: { Timestamp(nanoseconds: SystemClock.fileTimeNanoseconds()) },
    monotonic: { SystemClock.monotonicNanoseconds() })
}

/// A space as POSIX sees it, albums included: the same for the kernel's requests, which FUSEDriver brings,
/// and for every other caller. All calls may come from any thread at once and block on disk work at most.
///
/// An inode without names lives until what uses it is gone: open files, open directories, and the
/// `InodeReference` that comes with each `Entry`.
///
/// Lock order, outermost first: a shard of `contents`, a `FileContent`, the catalog. `pendingPhotos` and
/// `observers` hold leaf locks of their own. No lock is held while sealing, reading records or calling an
/// observer.
package final class FileSystem: Sendable {
  let space: Space
  package let clock: FileSystemClock
  let contents: ContentTable
  let pendingPhotos = PendingPhotos()
  let origins = ThumbnailOrigins()
  let observers = Observers()

  /// Takes over an opened space; the caller closes it after `close`.
  package init(space: Space, clock: FileSystemClock = .system) {
    self.space = space
    self.clock = clock
    contents = ContentTable(space: space, clock: clock)
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

  /// From now on the observer hears of changes; it is kept until `remove`.
  package func add(_ observer: any FileSystemObserver) { observers.add(observer) }

  package func remove(_ observer: any FileSystemObserver) { observers.remove(observer) }

  // MARK: Entries

  /// Finds a name.
  package func lookup(_ name: FileName, in parent: InodeNumber) throws(FSError) -> Entry {
    let found = try space.read { (catalog: borrowing Catalog) throws(FSError) -> Entry in
      let directory = try InodeIndex(directory: parent, in: catalog)
      guard let resolution = ThumbView.resolve(name.bytes, in: directory, catalog) else {
        throw FSError(.notFound)
      }
      return Entry(resolution, name, in: directory, catalog, of: space)
    }
    if found.isThumbnail {
      origins.remember(found.attributes.inode, name: name, directory: parent)
    }
    return current(found)
  }

  /// The inode that an entry of a directory names; nil where there is none.
  package func entry(_ name: FileName, in parent: InodeNumber) -> InodeNumber? {
    space.read { catalog in
      catalog.index(of: parent).flatMap { catalog.child(name.bytes, of: $0) }
        .map { catalog.state($0).number }
    }
  }

  /// True while somebody has a file open.
  package func isOpen(_ file: InodeNumber) -> Bool { contents.find(file) != nil }

  /// The same with what is pending of the content.
  func current(_ entry: Entry) -> Entry {
    var entry = entry
    entry.attributes = current(entry.attributes)
    return entry
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
}

extension InodeIndex {
  /// The inode with a number; `.stale` where there is none.
  init(_ inode: InodeNumber, in catalog: borrowing Catalog) throws(FSError) {
    guard let index = catalog.index(of: inode) else {
      throw FSError(.stale, "no inode \(inode.rawValue)")
    }
    self = index
  }

  /// A directory that still has a name; `.notDirectory` or `.notFound` otherwise.
  init(directory inode: InodeNumber, in catalog: borrowing Catalog) throws(FSError) {
    self = try InodeIndex(inode, in: catalog)
    let state = catalog.state(self)
    if !state.isDirectory { throw FSError(.notDirectory) }
    if state.links == 0 { throw FSError(.notFound, "the directory was removed") }
  }
}
