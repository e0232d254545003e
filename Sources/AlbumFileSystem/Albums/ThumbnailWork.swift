import AlbumFormat
package import AlbumModel
import AlbumStore
import Posix

// DESIGN section 6, the file system's side: which photo is next, its bytes as of one version of its
// content, and the thumbnail that comes back. A thumbnail is always a new inode.

/// How far the thumbnails of a part of the space are.
package struct ThumbnailReport: Sendable {
  package struct Failed: Sendable {
    /// From the root of the space, without a leading `/`.
    package var path: [UInt8]
    package var reason: ThumbnailFailure
  }
  package var pending = 0
  package var failed: [Failed] = []
  package init() {}
}

/// Which thumbnails are to be made again.
package enum ThumbnailChoice: Sendable {
  /// Those that could not be made.
  case failed
  /// All photos that show none, those included whose thumbnail the user removed.
  case missing
  case all
}

extension FileSystem {
  /// The next photo that needs a thumbnail; nil where none waits. To be answered by `finish` or
  /// `fail`, once. Photos that somebody has open for writing come when they are closed.
  package func nextPhoto() -> PhotoVersion? {
    if space.isReadOnly { return nil }
    while let inode = pendingPhotos.take() {
      let isQuiet = !contents.hasWriter(inode)
      let version = space.read { catalog -> UInt64? in
        guard let index = catalog.index(of: inode), isQuiet else { return nil }
        let state = catalog.state(index)
        return state.needsThumbnail ? state.contentVersion : nil
      }
      if let version { return PhotoVersion(inode: inode, version: version) }
      pendingPhotos.done(inode)
    }
    return nil
  }

  /// Calls `wake`, from any thread, when a photo waits that did not before. It must return at once.
  package func whenPhotosWait(_ wake: @escaping @Sendable () -> Void) {
    pendingPhotos.setWake(wake)
  }

  /// Bytes of a version of a photo; nil when it is gone.
  package func photoSize(_ photo: PhotoVersion) -> Int64? {
    space.read { catalog in ThumbnailWork.find(photo, catalog).map { catalog.state($0).size } }
  }

  /// Reads a version of a photo: bytes read, fewer than asked for at the end only. Nil when the
  /// version is gone or cannot be read. `ReadHeadroom.byteCount` bytes before the buffer are
  /// clobbered.
  package func readPhoto(
    _ photo: PhotoVersion, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) -> Int? {
    var plan = readPlan(photo, offset, Int64(buffer.count))
    while let known = plan {
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<known.count])
      do throws(StoreError) {
        try unsafe space.fill(target, at: offset, from: known.extents)
        return known.count
      } catch {
        plan = readPlan(photo, offset, Int64(buffer.count))
        if !error.isOfMovedContent || plan?.extents == known.extents { return nil }
      }
    }
    return nil
  }

  private func readPlan(_ photo: PhotoVersion, _ offset: Int64, _ wanted: Int64)
    -> (count: Int, extents: [Extent])?
  {
    guard let size = photoSize(photo) else { return nil }
    let count = max(0, min(wanted, size - offset))
    let extents = space.extents(from: offset, to: offset + count) { ThumbnailWork.find(photo, $0) }
    return extents.map { (Int(count), $0) }
  }

  /// The thumbnail of a photo: in the space in one step of history, or dropped when the photo has
  /// changed meanwhile. Throws when it could not be stored; the photo then waits for the next mount
  /// or for `retryThumbnails`.
  package func finish(_ photo: PhotoVersion, thumbnail: [UInt8]) throws(FSError) {
    defer { pendingPhotos.done(photo.inode) }
    try writable()
    let made = space.change { catalog -> InodeReference? in
      guard let index = ThumbnailWork.find(photo, catalog) else { return nil }
      let made = ThumbnailWork.makeThumbnailInode(for: index, &catalog)
      defer { catalog.unpin(made) }
      return InodeReference(made, in: catalog, of: space)
    }
    guard let made else { return }
    let extents = try store(thumbnail, of: made.inode)
    let isShown = space.change { catalog in
      ThumbnailWork.attach(
        made.inode, extents, byteCount: Int64(thumbnail.count), to: photo, &catalog)
    }
    if isShown { observers.tell(.thumbnail(of: photo.inode)) }
  }

  /// No thumbnail can be made of this version: remembered, with the reason, until the photo changes.
  package func fail(_ photo: PhotoVersion, reason: ThumbnailFailure) {
    space.change { catalog in
      guard let index = ThumbnailWork.find(photo, catalog),
        catalog.state(index).thumbnailState == .pending
      else {
        return
      }
      // The one of this very content stays, where there is one.
      if catalog.thumbnail(of: index) == nil { catalog.dropThumbnail(of: index) }
      catalog.update(index) { $0.setThumbnail(.failed, reason) }
    }
    pendingPhotos.done(photo.inode)
    observers.tell(.thumbnail(of: photo.inode))
  }

  /// The version is gone and needs no answer any more.
  package func abandon(_ photo: PhotoVersion) { pendingPhotos.done(photo.inode) }

  /// Returns when the thumbnails of all photos that were closed before the call are made or have
  /// failed: true; or at `deadline`, a time of `SystemClock.monotonicNanoseconds`: false.
  package func waitForThumbnails(until deadline: Int64?) -> Bool {
    pendingPhotos.wait(until: deadline)
  }

  /// How far the thumbnails are, in the whole space or below one directory.
  package func thumbnailReport(under top: InodeNumber? = nil) -> ThumbnailReport {
    var report = ThumbnailReport()
    forEachFile(under: top ?? .root) { path, state in
      if state.needsThumbnail { report.pending += 1 }
      if let reason = state.thumbnailFailure {
        report.failed.append(ThumbnailReport.Failed(path: path, reason: reason))
      }
    }
    return report
  }

  /// Has thumbnails made again, in the whole space or below one directory. Answers how many.
  @discardableResult
  package func retryThumbnails(under top: InodeNumber? = nil, _ choice: ThumbnailChoice)
    throws(FSError) -> Int
  {
    try writable()
    var photos: [InodeNumber] = []
    forEachFile(under: top ?? .root) { _, state in
      if state.isChosen(choice) { photos.append(state.number) }
    }
    space.change { catalog in
      for photo in photos {
        guard let index = catalog.index(of: photo) else { continue }
        catalog.update(index) { $0.setThumbnail(.pending) }
      }
    }
    pendingPhotos.add(photos)
    return photos.count
  }

  /// The albums of the photos at and under a directory whose Thumb was removed: their thumbnails are
  /// made, and show nowhere. Paths from the root of the space, without a leading `/`.
  package func albumsWithoutThumb(under top: InodeNumber) -> [[UInt8]] {
    var albums: Set<InodeNumber> = []
    var waiting = [top]
    while let directory = waiting.popLast() {
      space.read { catalog in
        guard let index = catalog.index(of: directory), catalog.state(index).isDirectory else {
          return
        }
        let zone = Zone(of: index, in: catalog)
        if zone.holdsPhotos, let album = zone.album,
          AlbumRules.thumbDirectory(of: album, catalog) == nil,
          ThumbnailWork.holdsPhoto(index, catalog)
        {
          albums.insert(catalog.state(album).number)
        }
        waiting += catalog.subdirectories(of: index).map { catalog.state($0.index).number }
      }
    }
    return albums.compactMap { try? path(of: $0) }.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Has those thumbnails made again that belong to other content than their photos have now, as damage
  /// or a repair may leave them.
  func renewFormerThumbnails() {
    if space.read({ catalog in ThumbnailWork.photosWithFormerThumbnail(catalog).isEmpty }) {
      return
    }
    space.change { catalog in
      for photo in ThumbnailWork.photosWithFormerThumbnail(catalog) {
        catalog.dropThumbnail(of: photo)
        catalog.update(photo) { $0.thumbnailState = .pending }
      }
    }
  }

  /// True while a photo waits for its thumbnail.
  package var hasPendingThumbnails: Bool { !pendingPhotos.isIdle }

  /// Queues a photo if it needs a thumbnail and nobody writes to it.
  func considerPhoto(_ inode: InodeNumber) {
    let isDue = space.read { catalog in
      catalog.index(of: inode).map { catalog.state($0).needsThumbnail } ?? false
    }
    if isDue && !contents.hasWriter(inode) { pendingPhotos.add([inode]) }
  }

  private func store(_ bytes: [UInt8], of inode: InodeNumber) throws(FSError) -> [Extent] {
    var extents: [Extent] = []
    var from = 0
    while from < bytes.count {
      let to = min(bytes.count, from + ChunkRange.chunkByteCount)
      let record = ScratchRecord(byteCount: to - from)
      unsafe bytes.withUnsafeBytes { all in
        unsafe record.content.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[from..<to]))
      }
      do throws(StoreError) {
        extents.append(
          try unsafe space.append(
            record.content, of: inode, at: Int64(from), fileLength: Int64(bytes.count)))
      } catch {
        let stored = extents
        space.change { catalog in
          for extent in stored { catalog.letGo(extent) }
        }
        throw FSError(error)
      }
      from = to
    }
    return extents
  }
}

extension InodeState {
  var needsThumbnail: Bool { thumbnailState == .pending && size > 0 && links > 0 }

  /// Why no thumbnail could be made; nil where that is not so.
  var thumbnailFailure: ThumbnailFailure? {
    if thumbnailState != .failed { return nil }
    return ThumbnailFailure(rawValue: thumbnailReason) ?? .internal
  }

  /// True of a file at a photo's place, until its content proves to be no picture.
  var isPhoto: Bool { thumbnailState != .none && thumbnailFailure != .notAPicture }

  /// Which thumbnail of the name goes first is decided anew.
  mutating func setThumbnail(_ new: ThumbnailState, _ reason: ThumbnailFailure? = nil) {
    thumbnailState = new
    thumbnailReason = reason?.rawValue ?? 0
    marks.remove(.thumbnailGoesFirst)
  }

  fileprivate func isChosen(_ choice: ThumbnailChoice) -> Bool {
    if thumbnailState == .none || size == 0 { return false }
    return switch choice {
    case .failed: thumbnailState == .failed
    case .missing: thumbnailState != .made
    case .all: true
    }
  }
}

/// A thumbnail's way into the catalog.
private enum ThumbnailWork {
  /// Whether a photo lies right in a directory.
  static func holdsPhoto(_ directory: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    var isThere = false
    catalog.forEachEntry(of: directory) { _, child, _ in
      isThere = catalog.state(child).thumbnailState != .none
      return !isThere
    }
    return isThere
  }

  /// The photos that count as done and whose thumbnail shows other content than theirs, or is lost.
  static func photosWithFormerThumbnail(_ catalog: borrowing Catalog) -> [InodeIndex] {
    var photos: [InodeIndex] = []
    catalog.forEachInode { index, state in
      if state.thumbnailState == .made, catalog.thumbnail(of: index) == nil { photos.append(index) }
    }
    return photos
  }

  /// The photo, while it has a name and this version of its content.
  static func find(_ photo: PhotoVersion, _ catalog: borrowing Catalog) -> InodeIndex? {
    guard let index = catalog.index(of: photo.inode),
      catalog.state(index).contentVersion == photo.version,
      catalog.state(index).links > 0
    else { return nil }
    return index
  }

  /// A new inode for a photo's thumbnail, without name and content; pinned once.
  static func makeThumbnailInode(for photo: InodeIndex, _ catalog: inout Catalog) -> InodeIndex {
    let model = catalog.state(photo)
    let index = catalog.create(
      kind: .regular, permissions: model.permissions & 0o666, owner: model.owner,
      group: model.group, time: model.modified)
    catalog.update(index) { $0.marks = .madeThumbnail }
    return index
  }

  /// Returns false, and lets go of the content, where the photo has changed meanwhile.
  static func attach(
    _ made: InodeNumber, _ extents: [Extent], byteCount: Int64, to photo: PhotoVersion,
    _ catalog: inout Catalog
  ) -> Bool {
    guard let thumbnail = catalog.index(of: made), let index = find(photo, catalog),
      catalog.state(index).thumbnailState == .pending
    else {
      for extent in extents { catalog.letGo(extent) }
      return false
    }
    catalog.placeExtents(extents, of: thumbnail)
    catalog.update(thumbnail) { state in
      state.size = byteCount
      state.contentVersion = photo.version
    }
    ThumbView.resemble(thumbnail, index, &catalog)
    catalog.setThumbnail(thumbnail, of: index)
    catalog.update(index) { $0.thumbnailState = .made }
    return true
  }
}
