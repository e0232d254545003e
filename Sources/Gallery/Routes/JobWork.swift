import AlbumModel
import PhotoGroups
import Posix

/// Does what a job is for, item by item, on threads for file calls.
struct JobWork: Sendable {
  let session: Session
  let job: Job
  let bridge: BlockingBridge
  private var space: OpenSpace { session.space }

  init(_ session: Session, _ job: Job, _ bridge: BlockingBridge) {
    self.session = session
    self.job = job
    self.bridge = bridge
  }

  /// A photo, and the files that belong to it as far as the job is for them: all, or the photo alone.
  struct Item: Sendable {
    let photo: UInt64
    let files: Set<UInt64>
  }

  // MARK: Deleting

  /// Hides what is to go, and removes it when the time to undo is over.
  func delete(_ items: [Item]) {
    let all = Set(items.flatMap(\.files))
    hide(all)
    Task {
      if await job.waitForRegret() {
        await eachItem(items) { try remove($0) }
        space.index.show(all)
      }
      job.end()
    }
  }

  /// The photo goes last: what an interruption leaves is a photo without its sidecar.
  private func remove(_ item: Item) throws {
    guard let photo = space.index.photo(evenHidden: item.photo) else {
      throw GalleryError(.unknown)
    }
    let found = files(of: item, photo)
    let folder = try space.mount.folder(found.folder)
    for file in found.files.reversed() {
      do {
        try space.mount.withMeant(file.row.name, is: file.row.inode, in: folder) {
          (folder) throws(Errno) in try folder.removeFile(file.row.name)
        }
      } catch {
        if file.row.inode == item.photo || GalleryError(any: error).code != .unknown { throw error }
      }
    }
  }

  /// The files of an item that are still there and still belong to its photo.
  private func files(of item: Item, _ photo: SpaceIndex.Photo) -> PhotoFiles {
    let found =
      item.files.count == 1
      ? PhotoFiles(alone: photo) : PhotoFiles(with: photo, without: [], space.mount)
    return found.only(item.files)
  }

  /// Removes an album with all in it.
  func deleteAlbum(_ inode: UInt64) {
    hide([inode])
    Task {
      if await job.waitForRegret() {
        await bridge.runPlain { removeAlbum(inode) }
        refresh(parentOf: inode)
        space.index.show([inode])
      }
      job.end()
    }
  }

  /// Whoever undoes the job finds all of it again at once.
  private func hide(_ inodes: Set<UInt64>) {
    space.index.hide(inodes)
    job.whenUndone { [space] in space.index.show(inodes) }
  }

  private func removeAlbum(_ inode: UInt64) {
    guard let album = space.index.album(evenHidden: inode) else { return }
    do {
      let parent = try space.mount.folder(Array(album.found.path.dropLast()))
      try parent.require(album.name, is: inode)
      try empty(try space.mount.folder(of: album))
      if !job.isCancelled { try parent.removeDirectory(album.name) }
    } catch {
      job.advance(fault(inode, album.name, error))
    }
  }

  /// A directory that is being emptied, and its entries that are still there.
  private final class Level {
    let folder: Folder
    /// The next one is the last. Thumb comes last, because thumbnails of photos go with these.
    var rest: [Folder.Name]

    init(_ folder: consuming Folder) throws(Errno) {
      let names = try folder.names()
      rest = names.filter { $0.name == .thumb } + names.filter { $0.name != .thumb }
      self.folder = folder
    }
  }

  /// Removes everything in a directory.
  private func empty(_ folder: consuming Folder) throws {
    var levels = [try Level(folder)]
    while let level = levels.last, !job.isCancelled {
      guard let entry = level.rest.last else {
        levels.removeLast()
        guard let parent = levels.last, let emptied = parent.rest.popLast() else { return }
        try parent.folder.removeDirectory(emptied.name)
        continue
      }
      if entry.kind == .directory {
        levels.append(try Level(try Folder([entry.name], below: level.folder)))
        continue
      }
      level.rest.removeLast()
      do throws(Errno) { try level.folder.removeFile(entry.name) } catch {
        if error != .noEntry { throw error }
      }
      if space.index.photo(evenHidden: entry.inode) != nil { job.advance() }
    }
  }

  private func refresh(parentOf inode: UInt64) {
    let parent = space.index.album(evenHidden: inode)?.found.parent
    space.refresh(parent ?? space.index.root)
  }

  // MARK: Moving and copying

  /// Renames into another album; where a name is taken there, all files of an item get a number.
  func move(_ items: [Item], to album: SpaceIndex.Album) {
    Task {
      await eachItem(items, into: album.found.inode) { item in
        guard let photo = space.index.photo(item.photo) else { throw GalleryError(.unknown) }
        if photo.album.found.inode == album.found.inode { return }
        let found = files(of: item, photo)
        let folder = try space.mount.folder(found.folder)
        let target = try space.photoFolder(of: album)
        try GalleryName.place(
          found.files.map { ($0.row.name, $0.row.inode, $0.name) }, of: folder, in: target,
          space.mount)
      }
      job.end()
    }
  }

  func copy(_ items: [Item], to album: SpaceIndex.Album) {
    Task {
      await eachItem(items, into: album.found.inode) { item in
        guard let photo = space.index.photo(item.photo) else { throw GalleryError(.unknown) }
        try copy(files(of: item, photo), to: try space.photoFolder(of: album))
      }
      job.end()
    }
  }

  /// All files have hidden names until the last one is complete.
  private func copy(_ found: PhotoFiles, to target: borrowing Folder) throws {
    let folder = try space.mount.folder(found.folder)
    var partials: [(name: FileName, inode: UInt64?, wanted: MemberName)] = []
    do {
      for file in found.files {
        let partial = FileName(known: Array(".albumfs-copy-\(RandomText.make(12))".utf8))
        partials.append((partial, nil, file.name))
        if try !copy(file.row, of: folder, to: partial, in: target) {
          partials.removeLast()
          return JobWork.remove(partials.map(\.name), in: target)
        }
      }
      try GalleryName.place(partials, of: target, in: target, space.mount)
    } catch {
      JobWork.remove(partials.map(\.name), in: target)
      throw error
    }
  }

  /// Returns false if a user stopped it; then there is no copy.
  private func copy(
    _ row: PhotoRow, of folder: borrowing Folder, to partial: FileName,
    in target: borrowing Folder
  ) throws(Errno) -> Bool {
    do throws(PlainCopy.Fault) {
      let (source, copy) = (folder.path(of: row.name), target.path(of: partial))
      _ = try PlainCopy.make(copy, from: source, of: row.inode) { _ in !job.isCancelled }
    } catch {
      if error == .stopped { return false }
      throw error.errno
    }
    return true
  }

  private static func remove(_ partials: [FileName], in target: borrowing Folder) {
    for partial in partials { try? target.removeFile(partial) }
  }

  // MARK: Items

  /// Does one thing with each item until a user cancels. The job names what failed.
  private func eachItem(
    _ items: [Item], into target: UInt64? = nil,
    _ body: @escaping @Sendable (Item) throws -> Void
  ) async {
    var changed: Set<UInt64> = target.map { [$0] } ?? []
    for item in items where !job.isCancelled {
      let photo = space.index.photo(evenHidden: item.photo)
      if let photo { changed.insert(photo.album.found.inode) }
      do {
        try await bridge.run { try body(item) }
        job.advance()
      } catch {
        job.advance(fault(item.photo, photo?.row.name, error))
      }
    }
    let albums = changed
    await bridge.runPlain { space.refresh(albums) }
  }

  private func fault(_ inode: UInt64, _ name: FileName?, _ error: any Error) -> Job.Fault {
    Job.Fault(
      id: session.id(inode), name: name?.display ?? "", error: GalleryError(any: error).code)
  }
}
