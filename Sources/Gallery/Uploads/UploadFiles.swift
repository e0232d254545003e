import AlbumModel
import Crypto
import Fetching
import Glibc
import HTTPTypes
import Posix

/// The files of uploads in a space. All calls block.
struct UploadFiles: Sendable {
  let space: OpenSpace

  private static let attribute = "user.albumfs.uploads"
  private static let changing = O_RDWR
  private static let writing = O_RDWR | O_CREAT

  /// The key of the names of hidden uploads: random, kept with the space.
  func key() throws(Errno) -> SymmetricKey {
    let root = try space.mount.root()
    if let kept = ExtendedAttribute.value(UploadFiles.attribute, of: root.path), kept.count == 43 {
      return SymmetricKey(data: kept)
    }
    let made = Array(RandomText.make(43).utf8)
    try ExtendedAttribute.set(UploadFiles.attribute, to: made, of: root.path)
    return SymmetricKey(data: made)
  }

  /// Finds the album below another one, and makes what is missing.
  func album(_ inode: UInt64, folders: [FileName]) throws -> UInt64 {
    var inode = inode
    for name in folders {
      guard let album = space.index.album(inode) else { throw GalleryError(.unknown) }
      let folder = try space.mount.folder(album.found.path)
      do throws(Errno) { try folder.makeDirectory(name) } catch {
        if error != .exists { throw error }
      }
      let entry = try folder.entry(name)
      if entry.kind != .directory { throw GalleryError(.exists) }
      inode = entry.file.inode
      if space.index.album(inode) == nil { space.refresh(album.found.inode) }
    }
    return inode
  }

  private func folder(of upload: Upload) throws -> Folder {
    guard let album = space.index.album(upload.album) else { throw GalleryError(.unknown) }
    return try space.photoFolder(of: album)
  }

  /// How far an upload is.
  func offset(_ upload: Upload) throws -> Int64 {
    let folder = try folder(of: upload)
    return (try? folder.entry(upload.partial).size) ?? 0
  }

  /// Opens the hidden file for more, at an offset that must be its end.
  func open(_ upload: Upload, at offset: Int64) throws -> FolderFile {
    let file = try folder(of: upload).open(upload.partial, UploadFiles.writing)
    let size = try file.size()
    if size == offset { return file }
    var error = GalleryError(.invalid)
    error.status = .conflict
    error.numbers = [("offset", size)]
    throw error
  }

  func cancel(_ upload: Upload) throws {
    let folder = try folder(of: upload)
    do throws(Errno) { try folder.removeFile(upload.partial) } catch {
      if error != .noEntry { throw error }
    }
  }

  /// The outcome of a complete upload.
  struct Finished: Sendable {
    var isNew: Bool
    var name: FileName
    var photo: UInt64
  }

  /// Gives a complete upload its name, unless the album has the same content already. It is not yet on disk.
  func finish(_ upload: Upload) throws -> Finished {
    guard let album = space.index.album(upload.album) else { throw GalleryError(.unknown) }
    let folder = try space.photoFolder(of: album)
    // An empty file has no slices.
    let flags = upload.size == 0 ? UploadFiles.writing : UploadFiles.changing
    let file = try folder.open(upload.partial, flags)
    let size = try file.size()
    if size != upload.size {
      var error = GalleryError(.invalid)
      error.status = .conflict
      error.numbers = [("offset", size)]
      throw error
    }
    return try settle(
      upload.partial, as: upload.name, modified: upload.modified, in: album, folder)
  }

  /// Gives a hidden file of an album a name, or removes it where the album has its content already. `folder`
  /// is the album's Photo.
  func settle(
    _ partial: FileName, as wanted: FileName, modified: Timestamp?, in album: SpaceIndex.Album,
    _ folder: borrowing Folder
  ) throws -> Finished {
    let file = try folder.open(partial, UploadFiles.changing)
    if let twin = try twin(of: file, in: album, folder) {
      try folder.removeFile(partial)
      return twin
    }
    if let modified { try file.setModified(modified) }
    let name = try GalleryName.place(partial, of: folder, as: wanted, in: folder)
    space.recentUploads.add(name, in: album.found.inode, size: try file.size())
    return Finished(isNew: true, name: name, photo: file.entry.file.inode)
  }

  /// A file of the album with the same content: of those that the index knows with this size, and those that
  /// were uploaded just now.
  private func twin(
    of file: FolderFile, in album: SpaceIndex.Album, _ photo: borrowing Folder
  ) throws -> Finished? {
    for candidate in candidates(in: album, size: try file.size()) {
      let other =
        candidate.isDirect
        ? try? space.mount.open(candidate.name, in: album.found.path)
        : try? photo.open(candidate.name)
      guard let other, (try? other.hasSameBytes(as: file)) == true else { continue }
      return Finished(isNew: false, name: candidate.name, photo: other.entry.file.inode)
    }
    return nil
  }

  private func candidates(in album: SpaceIndex.Album, size: Int64)
    -> [(name: FileName, isDirect: Bool)]
  {
    let content = album.found.content
    return (0..<content.count).filter { content.sizes[$0] == size }
      .map { (name: content.name($0), isDirect: content.direct[$0]) }
      + space.recentUploads.names(in: album.found.inode, size: size).map { ($0, false) }
  }

  /// Files that are longer are not compared by hash.
  private static let hashLimit: Int64 = 64 << 20

  /// True if the album may have the content already.
  func hasCandidate(for upload: Upload) -> Bool {
    guard upload.size > 0, upload.size <= UploadFiles.hashLimit,
      let album = space.index.album(upload.album)
    else { return false }
    return !candidates(in: album, size: upload.size).isEmpty
  }

  /// A file of the album with this SHA-256.
  func twin(of upload: Upload, hash: [UInt8]) throws -> Finished? {
    guard upload.size <= UploadFiles.hashLimit, let album = space.index.album(upload.album) else {
      return nil
    }
    for candidate in candidates(in: album, size: upload.size) {
      let path = album.found.path + (candidate.isDirect ? [] : [.photo])
      guard let file = try? space.mount.open(candidate.name, in: path),
        try UploadFiles.hash(of: file) == hash
      else { continue }
      return Finished(isNew: false, name: candidate.name, photo: file.entry.file.inode)
    }
    return nil
  }

  private static func hash(of file: FolderFile) throws -> [UInt8] {
    var hash = SHA256()
    var offset: Int64 = 0
    while true {
      let bytes = try file.bytes(1 << 20, at: offset)
      if bytes.isEmpty { return Array(hash.finalize()) }
      hash.update(data: bytes)
      offset += Int64(bytes.count)
    }
  }

  /// Removes hidden uploads that nobody continues.
  func removeStale() {
    let now = SystemClock.wall()
    for album in space.index.albums().albums {
      guard let folder = try? space.mount.folder(album.found.path + [.photo]),
        let names = try? folder.names()
      else { continue }
      RemoteDownload.removeStale(in: folder)
      for name in names {
        guard let patience = Upload.patience(for: name.name) else { continue }
        if let entry = try? folder.entry(name.name), entry.modified < now - patience {
          try? folder.removeFile(name.name)
        }
      }
    }
  }
}

/// The files that were uploaded a moment ago, which the index may not know yet. Any thread.
final class RecentUploads: Sendable {
  private struct Entry {
    var name: FileName
    var album: UInt64
    var size: Int64
  }

  private let entries = Mutex<[Entry]>([], rank: .leaf)
  private static let limit = 1024

  func add(_ name: FileName, in album: UInt64, size: Int64) {
    entries.withLock { entries in
      entries.append(Entry(name: name, album: album, size: size))
      if entries.count > RecentUploads.limit { entries.removeFirst(RecentUploads.limit / 2) }
    }
  }

  func names(in album: UInt64, size: Int64) -> [FileName] {
    entries.withLock { entries in
      entries.filter { $0.album == album && $0.size == size }.map(\.name)
    }
  }
}
