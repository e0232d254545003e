import AlbumModel
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

  // MARK: Deleting

  /// Hides what is to go, and removes it when the time to undo is over.
  func delete(_ inodes: [UInt64]) {
    let all = Set(inodes)
    hide(all)
    Task {
      if await job.waitForRegret() {
        await eachItem(inodes) { inode in try remove(inode) }
        space.index.show(all)
      }
      job.end()
    }
  }

  private func remove(_ inode: UInt64) throws {
    guard let photo = space.index.photo(evenHidden: inode) else { throw GalleryError(.unknown) }
    let folder = try space.mount.folder(photo.folder)
    try JobWork.require(photo.row, in: folder)
    try folder.removeFile(photo.row.name)
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
      guard try parent.entry(album.name).file.inode == inode else { throw GalleryError(.unknown) }
      try empty(try space.mount.folder(album.found.path))
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

  /// Renames into another album; a name that is taken there gets a number.
  func move(_ inodes: [UInt64], to album: SpaceIndex.Album) {
    Task {
      await eachItem(inodes, into: album.found.inode) { inode in
        guard let photo = space.index.photo(inode) else { throw GalleryError(.unknown) }
        if photo.album.found.inode == album.found.inode { return }
        let folder = try space.mount.folder(photo.folder)
        try JobWork.require(photo.row, in: folder)
        let target = try space.photoFolder(of: album)
        _ = try GalleryName.place(photo.row.name, of: folder, as: photo.row.name, in: target)
      }
      job.end()
    }
  }

  func copy(_ inodes: [UInt64], to album: SpaceIndex.Album) {
    Task {
      await eachItem(inodes, into: album.found.inode) { inode in
        guard let photo = space.index.photo(inode) else { throw GalleryError(.unknown) }
        let folder = try space.mount.folder(photo.folder)
        let target = try space.photoFolder(of: album)
        // A hidden name until it is complete.
        let partial = FileName(known: Array(".albumfs-copy-\(RandomText.make(12))".utf8))
        do throws(PlainCopy.Fault) {
          _ = try PlainCopy.make(
            target.path(of: partial), from: folder.path(of: photo.row.name)
          ) { _ in !job.isCancelled }
        } catch {
          if error == .stopped { return }
          throw error.errno
        }
        do throws(Errno) {
          _ = try GalleryName.place(partial, of: target, as: photo.row.name, in: target)
        } catch {
          try? target.removeFile(partial)
          throw error
        }
      }
      job.end()
    }
  }

  // MARK: Items

  /// Does one thing with each item until a user cancels. The job names what failed.
  private func eachItem(
    _ inodes: [UInt64], into target: UInt64? = nil,
    _ body: @escaping @Sendable (UInt64) throws -> Void
  ) async {
    var changed: Set<UInt64> = target.map { [$0] } ?? []
    for inode in inodes where !job.isCancelled {
      let photo = space.index.photo(evenHidden: inode)
      if let photo { changed.insert(photo.album.found.inode) }
      do {
        try await bridge.run { try body(inode) }
        job.advance()
      } catch {
        job.advance(fault(inode, photo?.row.name, error))
      }
    }
    let albums = changed
    await bridge.runPlain { space.refresh(albums) }
  }

  private func fault(_ inode: UInt64, _ name: FileName?, _ error: any Error) -> Job.Fault {
    Job.Fault(
      id: session.id(inode), name: name?.display ?? "", error: GalleryError(any: error).code)
  }

  /// Throws if the name leads to another file by now.
  private static func require(_ row: PhotoRow, in folder: borrowing Folder) throws {
    if try folder.entry(row.name).file.inode != row.inode { throw GalleryError(.unknown) }
  }
}
