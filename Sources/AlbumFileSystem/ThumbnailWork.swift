import AlbumFormat
package import AlbumModel
import AlbumStore
import FileKinds
package import Posix

// The file system's part of making thumbnails: the next photo, its bytes as of one version of its content,
// and storing the thumbnail. A thumbnail is always a new inode.

/// The state of the thumbnails in a part of the space.
package struct ThumbnailReport: Sendable {
  package struct Failed: Sendable {
    /// The path from the root of the space, without a leading `/`.
    package var path: [UInt8]
    package var reason: ThumbnailFailure
  }
  package var pending = 0
  package var failed: [Failed] = []
  /// Videos at a photo's place, known by their names, and how many of them count as photos (`isPhoto`): all
  /// but those that no decoder knows.
  package var videos = 0
  package var videosAmongPhotos = 0
  package init() {}
}

/// A choice of thumbnails to make again.
package enum ThumbnailChoice: Sendable {
  /// Pictures whose thumbnail failed.
  case failed
  /// All photos without one. Among them are files that are no picture, and those whose thumbnail the user
  /// removed.
  case missing
  case all
}

/// Why a version of a photo cannot be read.
package enum PhotoFault: Error {
  /// The photo has changed, or is not there any more.
  case gone
  /// Its content is missing, or does not decrypt.
  case damaged
  /// The store cannot be read at this moment, which says nothing about the photo.
  case unreadable
}

extension FileSystem {
  /// The next photo that needs a thumbnail; nil if none waits. The caller then calls `finish` or `fail`,
  /// once. Photos that are open for writing follow when they are closed.
  package func nextPhoto() -> PhotoVersion? {
    if space.isReadOnly { return nil }
    while let inode = pendingPhotos.take() {
      let isQuiet = !contents.hasWriter(inode)
      let photo = space.read { catalog -> PhotoVersion? in
        guard let index = catalog.index(of: inode), isQuiet else { return nil }
        let state = catalog.state(index)
        if !state.needsThumbnail { return nil }
        return PhotoVersion(
          inode: inode, version: state.contentVersion,
          rotation: PhotoAttributes.rotation(of: index, catalog))
      }
      if let photo { return photo }
      pendingPhotos.done(inode)
    }
    return nil
  }

  /// Calls `wake`, on any thread, when a new photo waits. It must return at once.
  package func whenPhotosWait(_ wake: @escaping @Sendable () -> Void) {
    pendingPhotos.setWake(wake)
  }

  /// Rises when photos begin to wait.
  package var photoArrivals: Int { pendingPhotos.arrivals }

  /// True while photos come one after the other, and nobody waits for a thumbnail.
  package var photosAreCopied: Bool { pendingPhotos.areCopied(now: clock.monotonic()) }

  /// How urgent the thumbnail of a photo that `nextPhoto` returned is now.
  package func urgency(of photo: PhotoVersion) -> PhotoUrgency {
    pendingPhotos.urgency(of: photo.inode, now: clock.monotonic())
  }

  /// A program asked for a name that does not exist. If it is that of a thumbnail to come, it comes next.
  func wantedInVain(_ name: FileName, in directory: InodeNumber) {
    if pendingPhotos.isIdle { return }
    let photo = space.read { catalog -> InodeNumber? in
      guard let folder = catalog.index(of: directory), Zone(of: folder, in: catalog).isThumb,
        let photo = ThumbView.photo(shownAs: name, in: folder, catalog),
        catalog.state(photo).needsThumbnail
      else { return nil }
      return catalog.state(photo).number
    }
    if let photo { pendingPhotos.isWanted(photo) }
  }

  /// The size of a version of a photo in bytes; nil if the version is gone.
  package func photoSize(_ photo: PhotoVersion) -> Int64? {
    space.read { catalog in ThumbnailWork.find(photo, catalog).map { catalog.state($0).size } }
  }

  /// Reads a version of a photo. Returns the number of bytes, which is less than requested only at the end.
  /// `ReadHeadroom.byteCount` bytes before the buffer must be writable and are restored.
  package func readPhoto(
    _ photo: PhotoVersion, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(PhotoFault) -> Int {
    var plan = readPlan(photo, offset, Int64(buffer.count))
    while let known = plan {
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<known.count])
      do throws(StoreError) {
        try unsafe space.fill(target, at: offset, from: known.extents)
        return known.count
      } catch {
        plan = readPlan(photo, offset, Int64(buffer.count))
        if plan == nil { throw .gone }
        let isOfContent = [.damaged, .missing, .misplaced].contains(error.code)
        if !isOfContent { throw .unreadable }
        if !error.isOfMovedContent || plan?.extents == known.extents { throw .damaged }
      }
    }
    throw .gone
  }

  private func readPlan(_ photo: PhotoVersion, _ offset: Int64, _ wanted: Int64)
    -> (count: Int, extents: [Extent])?
  {
    guard let size = photoSize(photo) else { return nil }
    let count = max(0, min(wanted, size - offset))
    let extents = space.extents(from: offset, to: offset + count) { ThumbnailWork.find(photo, $0) }
    return extents.map { (Int(count), $0) }
  }

  /// Stores the thumbnail of a photo in one step of history, or drops it if the photo has changed meanwhile.
  /// Throws if it could not be stored; the photo then waits for the next mount or for `retryThumbnails`.
  package func finish(
    _ photo: PhotoVersion, thumbnail: [UInt8], facts: PictureFacts = PictureFacts()
  ) throws(FSError) {
    defer { pendingPhotos.done(photo.inode) }
    try writable()
    let made = space.change { catalog -> InodeReference? in
      guard let index = ThumbnailWork.find(photo, catalog) else { return nil }
      let made = ThumbnailWork.makeThumbnailInode(for: index, &catalog)
      defer { catalog.unpin(made) }
      return InodeReference(made, in: catalog, of: space)
    }
    guard let made else { return }
    var stored = try store(thumbnail, of: made.inode)
    let isShown = space.change { catalog in
      let isShown = ThumbnailWork.attach(
        made.inode, stored.extents, byteCount: Int64(thumbnail.count), facts, to: photo, &catalog)
      if isShown { _ = stored.take() }
      return isShown
    }
    if isShown { notifyObservers(.thumbnail(of: photo.inode)) }
  }

  /// Records, until the photo changes, that this version gets no thumbnail, and the reason.
  package func fail(_ photo: PhotoVersion, reason: ThumbnailFailure) {
    space.change { catalog in
      guard let index = ThumbnailWork.find(photo, catalog),
        catalog.state(index).thumbnailState == .pending
      else {
        return
      }
      // A thumbnail of this very content stays.
      if catalog.thumbnail(of: index) == nil { catalog.dropThumbnail(of: index) }
      catalog.update(index) { $0.setThumbnail(.failed, reason) }
    }
    pendingPhotos.done(photo.inode)
    notifyObservers(.thumbnail(of: photo.inode))
  }

  /// The version is gone and needs no result any more, or cannot be read until the next mount.
  package func abandon(_ photo: PhotoVersion) { pendingPhotos.done(photo.inode) }

  /// Waits for the thumbnails of all photos that were closed before the call. Returns true when they are made
  /// or have failed, or false at `deadline`.
  package func waitForThumbnails(until deadline: MonotonicTime?) -> Bool {
    pendingPhotos.wait(until: deadline)
  }

  /// The inode of a photo's thumbnail; nil if it has none.
  package func thumbnail(of photo: InodeNumber) -> InodeNumber? {
    space.read { catalog in
      guard let index = catalog.index(of: photo), let shown = catalog.thumbnail(of: index) else {
        return nil
      }
      return catalog.state(shown).number
    }
  }

  /// The names under which a directory of Thumb shows some thumbnails; none for another directory.
  package func names(of thumbnails: Set<InodeNumber>, shownIn directory: InodeNumber)
    throws(FSError) -> [FileName]
  {
    let opened = try openDirectory(directory)
    if !opened.changesByItself { return [] }
    var names: [FileName] = []
    try opened.list(from: 0) { entry in
      if thumbnails.contains(entry.inode) { names.append(entry.name) }
      return true
    }
    return names
  }

  /// The state of the thumbnails in the whole space or below one directory.
  package func thumbnailReport(under top: InodeNumber? = nil) -> ThumbnailReport {
    var report = ThumbnailReport()
    forEachFile(under: top ?? .root) { path, state in
      if state.needsThumbnail { report.pending += 1 }
      if state.thumbnailState != .none, NamedKind(of: path) == .film {
        report.videos += 1
        if state.isPhoto { report.videosAmongPhotos += 1 }
      }
      if let reason = state.thumbnailFailure {
        report.failed.append(ThumbnailReport.Failed(path: path, reason: reason))
      }
    }
    return report
  }

  /// Looks up what a path means to the one who wants thumbnails: the name of a thumbnail means its photo, a
  /// folder of Thumb means the folder of Photo that it shows, and Thumb itself means its album.
  package func resolvePhotos(path: [UInt8]) throws(FSError) -> InodeNumber {
    let parts = path.split(separator: UInt8(ascii: "/")).filter { $0 != [UInt8(ascii: ".")] }
    let found = try resolve(path: path)
    let parent = try resolve(path: Array(parts.dropLast().joined(separator: [UInt8(ascii: "/")])))
    return space.read { catalog in
      guard let index = catalog.index(of: found) else { return found }
      if catalog.state(index).isDirectory {
        guard case .thumb(let album, let top) = Zone(of: index, in: catalog) else { return found }
        let shown =
          index == top ? album : ThumbView.photoDirectories(shownIn: index, catalog).first ?? index
        return catalog.state(shown).number
      }
      guard let last = parts.last, let name = try? FileName(Array(last)),
        let folder = catalog.index(of: parent),
        let photo = ThumbView.photo(shownAs: name, in: folder, catalog)
      else { return found }
      return catalog.state(photo).number
    }
  }

  /// Queues thumbnails to be made again, in the whole space, below one directory, or of one photo. Returns
  /// how many.
  @discardableResult
  package func retryThumbnails(under top: InodeNumber? = nil, _ choice: ThumbnailChoice)
    throws(FSError) -> Int
  {
    try writable()
    var photos: [InodeNumber] = []
    var others: [InodeNumber] = []
    forEachFile(under: top ?? .root) { _, state in
      if state.isChosen(choice) { photos.append(state.number) } else { others.append(state.number) }
    }
    let named = space.read { catalog in
      top.flatMap { catalog.index(of: $0) }.map { catalog.state($0) }
    }
    if let named, named.kind == .regular {
      if named.isChosen(choice) { photos.append(named.number) } else { others.append(named.number) }
    }
    if choice == .missing { photos += withoutFacts(others) }
    space.change { catalog in
      for photo in photos {
        guard let index = catalog.index(of: photo) else { continue }
        catalog.update(index) { $0.setThumbnail(.pending) }
      }
    }
    learnHomes(of: photos)
    pendingPhotos.add(photos, .backlog)
    return photos.count
  }

  private func withoutFacts(_ photos: [InodeNumber]) -> [InodeNumber] {
    photos.filter { photo in
      space.read { catalog in
        catalog.index(of: photo).map { PhotoAttributes.lacksFacts($0, catalog) } ?? false
      }
    }
  }

  /// The albums, at and below a directory, whose Thumb was removed although they have photos: their
  /// thumbnails show nowhere. Paths from the root of the space, without a leading `/`.
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

  /// Queues thumbnails that belong to other content than their photos have now, as damage or a repair may
  /// leave them.
  func renewFormerThumbnails() {
    var photos: [InodeNumber] = []
    forEachInode { index, state, catalog in
      if ThumbnailWork.hasFormerThumbnail(index, catalog) { photos.append(state.number) }
    }
    if photos.isEmpty { return }
    space.change { catalog in
      for photo in photos {
        guard let index = catalog.index(of: photo), ThumbnailWork.hasFormerThumbnail(index, catalog)
        else { continue }
        catalog.dropThumbnail(of: index)
        catalog.update(index) { $0.thumbnailState = .pending }
      }
    }
  }

  /// True while a photo waits for its thumbnail.
  package var hasPendingThumbnails: Bool { !pendingPhotos.isIdle }

  /// Queues a photo if it needs a thumbnail and no caller writes to it.
  func considerPhoto(_ inode: InodeNumber) {
    let isDue = space.read { catalog in
      catalog.index(of: inode).map { catalog.state($0).needsThumbnail } ?? false
    }
    if isDue && !contents.hasWriter(inode) {
      pendingPhotos.add([inode], .written(clock.monotonic()))
    }
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
            record.content, of: inode, at: Int64(from), fileLength: Int64(bytes.count),
            in: .thumbnails))
      } catch {
        throw FSError(error)
      }
      from = to
    }
    return stored
  }
}

extension InodeState {
  fileprivate func isChosen(_ choice: ThumbnailChoice) -> Bool {
    if thumbnailState == .none || size == 0 { return false }
    return switch choice {
    case .failed: thumbnailFailure.map { $0 != .notAPicture } ?? false
    case .missing: thumbnailState != .made
    case .all: true
    }
  }
}

/// A thumbnail's way into the catalog.
enum ThumbnailWork {
  /// A photo may have been turned. Returns true if its thumbnail must be made anew; the former one shows
  /// until then.
  static func turn(
    _ photo: InodeIndex, from former: Rotation, _ catalog: inout Catalog
  ) -> Bool {
    let state = catalog.state(photo).thumbnailState
    guard PhotoAttributes.rotation(of: photo, catalog) != former,
      state == .made || state == .pending
    else { return false }
    catalog.update(photo) { $0.setThumbnail(.pending) }
    return catalog.state(photo).needsThumbnail
  }

  /// True if a photo lies directly in a directory.
  static func holdsPhoto(_ directory: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    var isThere = false
    catalog.forEachEntry(of: directory) { _, child, _ in
      isThere = catalog.state(child).thumbnailState != .none
      return !isThere
    }
    return isThere
  }

  /// True for a photo that counts as done although its thumbnail is lost or shows other content.
  static func hasFormerThumbnail(_ photo: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    catalog.state(photo).thumbnailState == .made && catalog.thumbnail(of: photo) == nil
  }

  /// The photo, while it has a name and this version of its content, turned like this.
  static func find(_ photo: PhotoVersion, _ catalog: borrowing Catalog) -> InodeIndex? {
    guard let index = catalog.index(of: photo.inode),
      catalog.state(index).contentVersion == photo.version,
      catalog.state(index).links > 0, PhotoAttributes.rotation(of: index, catalog) == photo.rotation
    else { return nil }
    return index
  }

  /// Creates an inode for a photo's thumbnail, without name and content; pinned once.
  static func makeThumbnailInode(for photo: InodeIndex, _ catalog: inout Catalog) -> InodeIndex {
    let model = catalog.state(photo)
    let index = catalog.create(
      kind: .regular, permissions: model.permissions & 0o666, owner: model.owner,
      group: model.group, time: model.modified)
    catalog.update(index) { $0.marks = .madeThumbnail }
    return index
  }

  /// Returns false if the photo has changed: then no file has the extents.
  static func attach(
    _ made: InodeNumber, _ extents: [Extent], byteCount: Int64, _ facts: PictureFacts,
    to photo: PhotoVersion, _ catalog: inout Catalog
  ) -> Bool {
    guard let thumbnail = catalog.index(of: made), let index = find(photo, catalog),
      catalog.state(index).thumbnailState == .pending
    else { return false }
    catalog.placeExtents(extents, of: thumbnail)
    catalog.update(thumbnail) { state in
      state.size = byteCount
      state.contentVersion = photo.version
    }
    ThumbView.resemble(thumbnail, index, &catalog)
    PhotoAttributes.keep(facts, in: thumbnail, of: index, &catalog)
    catalog.setThumbnail(thumbnail, of: index)
    catalog.update(index) { $0.thumbnailState = .made }
    return true
  }
}
