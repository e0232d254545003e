import AlbumModel
import Posix

/// A space that at least one session uses: its mount, its index, and what its sessions share.
final class OpenSpace: Sendable {
  let mount: MountedSpace
  let index = SpaceIndex()
  let recentUploads = RecentUploads()
  let barriers: BarrierDesk
  private let upkeep: IndexUpkeep

  /// Walks the space and begins to keep its index. `whenGone` is called if the space is unmounted by others.
  init(_ mount: MountedSpace, whenGone: @escaping @Sendable () -> Void) throws(Errno) {
    self.mount = mount
    barriers = BarrierDesk(mount)
    upkeep = IndexUpkeep(mount, index)
    try upkeep.start(whenGone: whenGone)
    if !isReadOnly {
      try PosixThread(name: "gallery-stale") { UploadFiles(space: self).removeStale() }.detach()
    }
  }

  var isReadOnly: Bool { mount.entry.readOnly }

  /// What tells this space from others, in every session and after a restart of the server; nil if nothing
  /// can be uploaded.
  var mark: String? {
    guard !isReadOnly, let key = try? UploadFiles(space: self).key() else { return nil }
    return Hexadecimal.text(SHA256.code(Array("space".utf8), key: key).prefix(16))
  }

  func requireWritable() throws(GalleryError) {
    if isReadOnly { throw GalleryError(.readonly) }
  }

  /// Waits a moment for the details of the first photos of some albums, or of all.
  func waitForDetails(of albums: [UInt64]?, first count: Int) {
    upkeep.waitForDetails(of: albums, first: count)
  }

  func close() { upkeep.stop() }

  /// Looks at an album, or at the root, at once, so that what this server changed shows in its next reply.
  func refresh(_ inode: UInt64) { refresh([inode]) }
  func refresh(_ inodes: Set<UInt64>) { try? upkeep.look(at: inodes) }

  /// The directory for an album's photos. Makes it if another program removed it, and finds it if one renamed
  /// the album a moment ago.
  func photoFolder(of album: SpaceIndex.Album) throws(Errno) -> Folder {
    do throws(Errno) { return try openPhotoFolder(of: album) } catch {
      if error != .noEntry { throw error }
      refresh(album.found.parent ?? index.root)
      guard let renamed = index.album(album.found.inode), renamed.found.path != album.found.path
      else { throw error }
      return try openPhotoFolder(of: renamed)
    }
  }

  private func openPhotoFolder(of album: SpaceIndex.Album) throws(Errno) -> Folder {
    let folder = try mount.folder(of: album)
    do throws(Errno) { return try Folder([.photo], below: folder) } catch {
      if error != .noEntry { throw error }
      try folder.makeDirectory(.photo)
      return try Folder([.photo], below: folder)
    }
  }
}
