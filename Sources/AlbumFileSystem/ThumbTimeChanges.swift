import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

extension FileSystem {
  /// Notifies the observers of a change, and of the times of Thumb that change with it.
  func notifyObservers(_ change: FileSystemChange, askedBy caller: Caller? = nil) {
    observers.notify(change, askedBy: caller)
    switch change {
    case .name(let name, let directory, _, let isThere):
      if !name.isHidden { stampThumb(forName: name, in: directory, isThere: isThere) }
    case .written(let photo):
      let lostThumbnail = space.read { catalog in
        catalog.index(of: photo).map {
          catalog.state($0).needsThumbnail && catalog.state($0).marks.contains(.thumbnailGoesFirst)
        } ?? false
      }
      if lostThumbnail { stampThumbs(showing: photo) }
    case .thumbnail(let photo):
      let hasThumbnail = space.read { catalog in
        catalog.index(of: photo).flatMap { catalog.thumbnail(of: $0) } != nil
      }
      if hasThumbnail { stampThumbs(showing: photo) } else { _ = thumbTimes.takeHome(of: photo) }
    case .contentLost, .attributes: break
    }
  }

  /// Learns in which directories some photos are, in one walk over the space.
  func learnHomes(of photos: [InodeNumber]) {
    if photos.isEmpty { return }
    for (photo, places) in names(of: Set(photos)) {
      if let place = places.first { thumbTimes.learn(photo, in: place.directory) }
    }
  }

  /// States the times that are only in memory.
  func keepThumbTimes() {
    let times = thumbTimes.takeAll()
    if times.isEmpty || space.isReadOnly { return }
    space.change { catalog in
      for (directory, time) in times {
        guard let index = catalog.index(of: directory) else { continue }
        catalog.update(index) { state in
          state.modified = max(state.modified, time)
          state.changed = max(state.changed, time)
        }
      }
    }
  }

  private func stampThumb(forName name: FileName, in directory: InodeNumber, isThere: Bool) {
    let twin = space.read { catalog -> InodeNumber? in
      guard let folder = catalog.index(of: directory), Zone(of: folder, in: catalog).holdsPhotos
      else { return nil }
      if isThere {
        guard let child = catalog.child(name, of: folder) else { return nil }
        let state = catalog.state(child)
        if state.thumbnailState == .pending { thumbTimes.learn(state.number, in: directory) }
        if catalog.thumbnail(of: child) == nil { return nil }
      }
      return Twins.twin(of: folder, catalog).map { catalog.state($0).number }
    }
    if let twin { stamp(twin) }
  }

  private func stampThumbs(showing photo: InodeNumber) {
    for directory in homes(of: photo) {
      let twin = space.read { catalog in
        catalog.index(of: directory).flatMap { Twins.twin(of: $0, catalog) }
          .map { catalog.state($0).number }
      }
      if let twin { stamp(twin) }
    }
  }

  private func stamp(_ directory: InodeNumber) {
    thumbTimes.set(directory, clock.now())
    observers.notify(.attributes(of: directory))
  }

  /// The directories with a name of the photo. Walks over the space if they are unknown.
  private func homes(of photo: InodeNumber) -> [InodeNumber] {
    if let home = thumbTimes.takeHome(of: photo) { return [home] }
    if let last = thumbTimes.lastHome, holds(last, photo) { return [last] }
    let found = names(of: photo).map(\.directory)
    if let first = found.first {
      thumbTimes.learn(photo, in: first)
      _ = thumbTimes.takeHome(of: photo)
    }
    return found
  }

  private func holds(_ directory: InodeNumber, _ photo: InodeNumber) -> Bool {
    space.read { catalog in
      guard let index = catalog.index(of: directory), let wanted = catalog.index(of: photo),
        catalog.state(index).isDirectory
      else { return false }
      var isThere = false
      catalog.forEachEntry(of: index) { _, child, _ in
        isThere = child == wanted
        return !isThere
      }
      return isThere
    }
  }
}
