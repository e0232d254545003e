import AlbumFormat
package import AlbumModel
import AlbumStore
package import Posix

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
    space.read { catalog in catalog.find(photo).map { catalog.state($0).size } }
  }

  /// Reads a version of a photo: bytes read, fewer than asked for at the end only. Nil when the
  /// version is gone or cannot be read. `ReadHeadroom.byteCount` bytes before the buffer must
  /// be writable and are restored.
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
    let extents = space.extents(from: offset, to: offset + count) { $0.find(photo) }
    return extents.map { (Int(count), $0) }
  }

  /// The thumbnail of a photo: in the space in one step of history, or dropped when the photo has
  /// changed meanwhile. Throws when it could not be stored; the photo then waits for the next mount
  /// or for `retryThumbnails`.
  package func finish(_ photo: PhotoVersion, thumbnail: [UInt8]) throws(FSError) {
    defer { pendingPhotos.done(photo.inode) }
    try writable()
    let made = space.change { catalog -> InodeNumber? in
      guard let index = catalog.find(photo) else { return nil }
      return catalog.makeThumbnailInode(for: index)
    }
    guard let made else { return }
    do throws(FSError) {
      var stored = try store(thumbnail, of: made)
      space.change { catalog in
        if catalog.attach(made, stored.extents, byteCount: Int64(thumbnail.count), to: photo) {
          _ = stored.take()
        }
      }
    } catch {
      forget(made, count: 1)
      throw error
    }
  }

  /// No thumbnail can be made of this version: remembered, with the reason, until the photo changes.
  package func fail(_ photo: PhotoVersion, reason: ThumbnailFailure) {
    space.change { catalog in
      guard let index = catalog.find(photo), catalog.state(index).thumbnailState == .pending else {
        return
      }
      // The one of this very content stays, where there is one.
      if catalog.thumbnail(of: index) == nil { catalog.dropThumbnail(of: index) }
      catalog.update(index) { $0.setThumbnail(.failed, reason) }
    }
    pendingPhotos.done(photo.inode)
  }

  /// The version is gone and needs no answer any more.
  package func abandon(_ photo: PhotoVersion) { pendingPhotos.done(photo.inode) }

  /// Returns when the thumbnails of all photos that were closed before the call are made or have
  /// failed: true; or at `deadline`: false.
  package func waitForThumbnails(until deadline: MonotonicTime?) -> Bool {
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
        let zone = catalog.zone(of: index)
        if zone.holdsPhotos, let album = zone.album, catalog.thumbDirectory(of: album) == nil,
          catalog.holdsPhoto(index)
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
    if space.read({ catalog in catalog.photosWithFormerThumbnail().isEmpty }) { return }
    space.change { catalog in
      for photo in catalog.photosWithFormerThumbnail() {
        catalog.dropThumbnail(of: photo)
        catalog.update(photo) { $0.thumbnailState = .pending }
      }
    }
  }

  /// Queues a photo if it needs a thumbnail and nobody writes to it.
  func considerPhoto(_ inode: InodeNumber) {
    let isDue = space.read { catalog in
      catalog.index(of: inode).map { catalog.state($0).needsThumbnail } ?? false
    }
    if isDue && !contents.hasWriter(inode) { pendingPhotos.add([inode]) }
  }

  private func store(_ bytes: [UInt8], of inode: InodeNumber) throws(FSError) -> HeldExtents {
    var stored = HeldExtents(in: space)
    var from = 0
    while from < bytes.count {
      let to = min(bytes.count, from + ChunkRange.chunkByteCount)
      let record = ScratchRecord(byteCount: to - from)
      unsafe bytes.withUnsafeBytes { all in
        unsafe record.content.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[from..<to]))
      }
      do throws(StoreError) {
        stored.add(
          try unsafe space.append(
            record.content, of: inode, at: Int64(from), fileLength: Int64(bytes.count)))
      } catch {
        throw FSError(error)
      }
      from = to
    }
    return stored
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

extension Catalog {
  /// Whether a photo lies right in a directory.
  fileprivate func holdsPhoto(_ directory: InodeIndex) -> Bool {
    var isThere = false
    forEachEntry(of: directory) { _, child, _ in
      isThere = state(child).thumbnailState != .none
      return !isThere
    }
    return isThere
  }

  /// The photos that count as done and whose thumbnail shows other content than theirs, or is lost.
  func photosWithFormerThumbnail() -> [InodeIndex] {
    var photos: [InodeIndex] = []
    forEachInode { index, state in
      if state.thumbnailState == .made, thumbnail(of: index) == nil { photos.append(index) }
    }
    return photos
  }

  /// The photo, while it has a name and this version of its content.
  fileprivate func find(_ photo: PhotoVersion) -> InodeIndex? {
    guard let index = index(of: photo.inode), state(index).contentVersion == photo.version,
      state(index).links > 0
    else { return nil }
    return index
  }

  /// A new inode for a photo's thumbnail, without name and content; pinned once.
  fileprivate mutating func makeThumbnailInode(for photo: InodeIndex) -> InodeNumber {
    let model = state(photo)
    let index = create(
      kind: .regular, permissions: model.permissions & 0o666, owner: model.owner,
      group: model.group, time: model.modified)
    update(index) { $0.marks = .madeThumbnail }
    return state(index).number
  }

  /// Returns false where the photo has changed: then nobody has the extents.
  fileprivate mutating func attach(
    _ made: InodeNumber, _ extents: [Extent], byteCount: Int64, to photo: PhotoVersion
  ) -> Bool {
    guard let thumbnail = index(of: made) else { return false }
    defer { unpin(thumbnail) }
    if let index = find(photo), state(index).thumbnailState == .pending {
      placeExtents(extents, of: thumbnail)
      update(thumbnail) { state in
        state.size = byteCount
        state.contentVersion = photo.version
      }
      resemble(thumbnail, index)
      setThumbnail(thumbnail, of: index)
      update(index) { $0.thumbnailState = .made }
      return true
    }
    return false
  }
}
