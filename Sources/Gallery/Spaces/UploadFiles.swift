import AlbumModel
import Fetching
import Glibc
import HTTPTypes
import Posix

/// The files of uploads in a space. All calls block.
struct UploadFiles: Sendable {
  let space: OpenSpace

  private static let attribute = "user.albumfs.uploads"
  private static let changing = O_RDWR
  /// Errors that opening a hidden file throws where another program put a directory, a FIFO or a link.
  private static let noFile: [Errno] = [.isDirectory, .tooManySymlinks, .invalid, .noDevice]

  /// The key of the names of hidden uploads: random, kept with the space.
  func key() throws(Errno) -> [UInt8] {
    let root = try space.mount.root()
    if let kept = ExtendedAttribute.value(UploadFiles.attribute, of: root.path), kept.count == 43 {
      return kept
    }
    let made = Array(RandomText.make(43).utf8)
    try ExtendedAttribute.set(UploadFiles.attribute, to: made, of: root.path)
    return made
  }

  /// Finds the album below another one, and makes what is missing.
  func album(_ inode: UInt64, folders: [FileName]) throws -> UInt64 {
    var inode = inode
    for name in folders {
      guard let album = space.index.album(inode) else { throw GalleryError(.unknown) }
      let folder = try space.mount.folder(of: album)
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

  /// Takes the longest hidden file that an upload like this one left, and returns its size. Whose bytes they
  /// are is not known.
  func found(_ upload: Upload) throws -> Int64 {
    let folder = try folder(of: upload)
    var longest: Int64 = 0
    for name in upload.names {
      guard let left = try? folder.entry(name), left.kind == .file, left.size <= upload.size,
        left.size > longest
      else { continue }
      longest = left.size
      upload.use(name)
    }
    return longest
  }

  /// Leaves the hidden file to another upload, and begins one of its own.
  private func startOver(_ upload: Upload, in folder: borrowing Folder) {
    upload.use(upload.names.first { !folder.holds($0) })
  }

  /// Compares the next bytes of the hidden file, which are at most a slice, with the client's hash of its
  /// own; returns how many bytes are proved. If the file is another upload's, this one starts over, and none
  /// are.
  func prove(_ upload: Upload, _ count: Int64, _ hash: [UInt8]) throws -> Int64 {
    let folder = try folder(of: upload)
    let progress = upload.progress
    let end = progress.proven + count
    if let file = try? folder.open(progress.partial), progress.isAbout(file),
      let found = try? UploadFiles.hash(of: file, progress.proven..<end), found == hash,
      try file.size() >= end
    {
      upload.proved(end, of: file.entry.file.inode)
    } else {
      startOver(upload, in: folder)
    }
    return upload.progress.proven
  }

  /// Opens the hidden file for more bytes, at an offset that must be where the upload is, and keeps other
  /// uploads from writing to it until the file is unlocked or closed. Throws 409 with the right offset.
  func open(_ upload: Upload, at offset: Int64) throws -> FolderFile {
    let folder = try folder(of: upload)
    let progress = upload.progress
    if offset != progress.proven { throw UploadFiles.elsewhere(upload) }
    do throws(Errno) {
      let file = try folder.openForDirectWrites(progress.partial)
      if progress.isAbout(file) {
        let isFree = try file.lock()
        // A slice that failed may have left bytes behind the proved ones.
        if isFree, progress.hasTail { try file.cut(to: offset) }
        if isFree, try file.size() == offset {
          upload.proved(offset, of: file.entry.file.inode)
          return file
        }
        // Another upload writes to it, or has gone on with it.
        if offset > 0 { return try ownCopy(upload, folder) }
      }
    } catch {
      // Another program may have put something else there, which is no file.
      if !UploadFiles.noFile.contains(error) { throw error }
    }
    startOver(upload, in: folder)
    if offset > 0 { throw UploadFiles.elsewhere(upload) }
    return try open(upload, at: 0)
  }

  /// Copies what is proved to a hidden file of the upload's own. Throws `.invalid` where that is not there.
  private func ownCopy(_ upload: Upload, _ folder: borrowing Folder) throws(Errno) -> FolderFile {
    let (old, count) = (upload.progress.partial, upload.progress.proven)
    startOver(upload, in: folder)
    let name = upload.progress.partial
    let copy = try folder.openForDirectWrites(name)
    guard try copy.lock(), try copy.size() == 0 else { throw .invalid }
    do throws(Errno) {
      let source = try folder.open(old)
      let buffer = PageBuffer(capacity: 1 << 20)
      var place: Int64 = 0
      while place < count {
        let bytes = try source.bytes(Int(min(1 << 20, count - place)), at: place)
        if bytes.isEmpty { throw .invalid }
        buffer.append(bytes)
        try copy.write(buffer, at: place)
        place += Int64(bytes.count)
        buffer.clear()
      }
    } catch {
      try? folder.removeFile(name)
      throw error
    }
    upload.proved(count, of: copy.entry.file.inode)
    return copy
  }

  private static func elsewhere(_ upload: Upload) -> GalleryError {
    var error = GalleryError(.invalid)
    error.status = .conflict
    error.numbers = [("offset", upload.progress.proven)]
    return error
  }

  func cancel(_ upload: Upload) throws {
    let folder = try folder(of: upload)
    let progress = upload.progress
    do throws(Errno) {
      let file = try folder.open(progress.partial, UploadFiles.changing)
      // Of an earlier upload it removes what lies there, but not what another one is just writing.
      let isFree = try progress.inode == nil ? file.lock() : progress.isAbout(file)
      if isFree { try folder.removeFile(progress.partial) }
    } catch {
      if error != .noEntry, !UploadFiles.noFile.contains(error) { throw error }
    }
  }

  /// The outcome of a complete upload.
  struct Finished: Sendable {
    var isNew: Bool
    var name: FileName
    var photo: UInt64
  }

  /// Gives a complete upload its name, unless the album has the same content already. It is not yet on disk.
  /// Throws 409 with the offset where it is not complete.
  func finish(_ upload: Upload) throws -> Finished {
    guard let album = space.index.album(upload.album) else { throw GalleryError(.unknown) }
    // The file of an empty upload has no slices that would have made it.
    if upload.size == 0, upload.progress.inode == nil { _ = try open(upload, at: 0) }
    let progress = upload.progress
    if progress.proven != upload.size { throw UploadFiles.elsewhere(upload) }
    let folder = try space.photoFolder(of: album)
    guard let file = try? folder.open(progress.partial), progress.isAbout(file),
      try file.size() == upload.size
    else {
      startOver(upload, in: folder)
      throw UploadFiles.elsewhere(upload)
    }
    removeBeginnings(of: file, upload, folder)
    return try settle(
      progress.partial, as: upload.name, modified: upload.modified, in: album, folder)
  }

  /// Removes what earlier attempts left of a file that is complete now.
  private func removeBeginnings(
    of file: FolderFile, _ upload: Upload, _ folder: borrowing Folder
  ) {
    for name in upload.names where name != upload.progress.partial {
      guard let left = try? folder.open(name, UploadFiles.changing), (try? left.lock()) == true,
        (try? file.begins(with: left)) == true
      else { continue }
      try? folder.removeFile(name)
    }
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
    let inode = file.entry.file.inode
    space.recentUploads.add(name, inode, in: album.found.inode, size: try file.size())
    return Finished(isNew: true, name: name, photo: inode)
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
      guard let other, isToStay(other), (try? other.hasSameBytes(as: file)) == true else {
        continue
      }
      return Finished(isNew: false, name: candidate.name, photo: other.entry.file.inode)
    }
    return nil
  }

  /// False for a photo whose deletion can still be undone: soon the album may not have it any more.
  private func isToStay(_ file: FolderFile) -> Bool {
    !space.index.hidden.contains(file.entry.file.inode)
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
      guard let file = try? space.mount.open(candidate.name, in: path), isToStay(file),
        try UploadFiles.hash(of: file, 0..<upload.size) == hash
      else { continue }
      return Finished(isNew: false, name: candidate.name, photo: file.entry.file.inode)
    }
    return nil
  }

  /// The SHA-256 of a part of a file, as far as the file has it.
  private static func hash(of file: FolderFile, _ part: Range<Int64>) throws -> [UInt8] {
    var hash = SHA256()
    var offset = part.lowerBound
    while offset < part.upperBound {
      let bytes = try file.bytes(Int(min(1 << 20, part.upperBound - offset)), at: offset)
      if bytes.isEmpty { break }
      hash.update(bytes)
      offset += Int64(bytes.count)
    }
    return hash.finish()
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

extension Upload.Progress {
  /// False where the file under the hidden name is not the one that the upload knows.
  fileprivate func isAbout(_ file: FolderFile) -> Bool {
    inode == nil || inode == file.entry.file.inode
  }
}

/// The files that were uploaded a moment ago, which the index may not know yet. Any thread.
final class RecentUploads: Sendable {
  private struct Entry {
    var name: FileName
    var album: UInt64
    var size: Int64
    /// nil once `takeAlbum` returned the album.
    var inode: UInt64?
  }

  private let entries = Mutex<[Entry]>([], rank: .leaf)
  private static let limit = 1024

  func add(_ name: FileName, _ inode: UInt64, in album: UInt64, size: Int64) {
    entries.withLock { entries in
      entries.append(Entry(name: name, album: album, size: size, inode: inode))
      if entries.count > RecentUploads.limit { entries.removeFirst(RecentUploads.limit / 2) }
    }
  }

  /// The album of an upload that the index may not know yet. Returns it once.
  func takeAlbum(of inode: UInt64) -> UInt64? {
    entries.withLock { entries in
      guard let place = entries.lastIndex(where: { $0.inode == inode }) else { return nil }
      entries[place].inode = nil
      return entries[place].album
    }
  }

  func names(in album: UInt64, size: Int64) -> [FileName] {
    entries.withLock { entries in
      entries.filter { $0.album == album && $0.size == size }.map(\.name)
    }
  }
}
