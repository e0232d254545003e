import AlbumFormat
package import AlbumModel
import AlbumStore

/// The contents of a space, for `status`.
package struct SpaceContents: Sendable {
  package var albums = 0
  /// Files at a photo's place that have a thumbnail, wait for one, or are damaged pictures. An empty file is
  /// none.
  package var photos = 0
  /// Thumbnails that albumfs made, without those that became the user's own.
  package var thumbnails = 0
  /// All regular files, including photos and thumbnails.
  package var files = 0
  package var bytes: Int64 = 0

  fileprivate mutating func count(_ state: InodeState) {
    if state.marks.contains(.album) { albums += 1 }
    if state.kind != .regular { return }
    files += 1
    bytes = bytes.saturatingAdd(state.size)
    if state.isPhoto, state.size > 0 {
      photos += 1
    } else if state.marks.contains(.madeThumbnail) {
      thumbnails += 1
    }
  }

  /// The thumbnail of a photo without a name counts as little as the photo, unless another one shares it.
  fileprivate mutating func leaveOut(thumbnail state: InodeState) {
    files -= 1
    thumbnails -= 1
    bytes -= state.size
  }
}

extension FileSystem {
  package func counts() -> SpaceContents {
    var contents = SpaceContents()
    forEachInode { index, state, catalog in
      if state.links > 0, !state.marks.contains(.leftOut) { contents.count(state) }
      if state.links == 0, catalog.isKept(index),
        let thumbnail = catalog.index(of: state.thumbnail), catalog.state(thumbnail).links == 1
      {
        contents.leaveOut(thumbnail: catalog.state(thumbnail))
      }
    }
    return contents
  }

  /// Calls `body` with every inode, in no order. Takes the catalog's lock for some thousand inodes at a
  /// time, and may miss inodes that are created or removed meanwhile.
  func forEachInode(_ body: (InodeState) -> Void) { forEachInode { _, state, _ in body(state) } }

  /// The same with the inode's place in the catalog.
  func forEachInode(_ body: (InodeIndex, InodeState, borrowing Catalog) -> Void) {
    var place: UInt32? = 0
    while let start = place {
      place = space.read { catalog in
        catalog.forEachInode(from: start, limit: FileSystem.slice) { index, state in
          body(index, state, catalog)
        }
      }
    }
  }

  /// Visits so many inodes or entries under one hold of the catalog's lock.
  private static let slice: UInt32 = 4096

  /// All names of an inode. Visits every entry of the space, some thousand at a time.
  package func names(of inode: InodeNumber) -> [(name: FileName, directory: InodeNumber)] {
    names(of: [inode])[inode] ?? []
  }

  /// The same for some inodes.
  func names(of inodes: Set<InodeNumber>)
    -> [InodeNumber: [(name: FileName, directory: InodeNumber)]]
  {
    var directories: [InodeNumber] = []
    forEachInode { if $0.isDirectory { directories.append($0.number) } }
    var names: [InodeNumber: [(name: FileName, directory: InodeNumber)]] = [:]
    for directory in directories {
      forEachEntry(of: directory) { name, child in
        if inodes.contains(child) { names[child, default: []].append((name, directory)) }
      }
    }
    return names
  }

  /// Calls `body` with every entry of a directory. Takes the catalog's lock for some thousand entries at a
  /// time.
  private func forEachEntry(of directory: InodeNumber, _ body: (FileName, InodeNumber) -> Void) {
    var last: UInt32? = 0
    while let start = last {
      last = space.read { catalog in
        guard let index = catalog.index(of: directory), catalog.state(index).isDirectory else {
          return nil
        }
        var (count, reached): (UInt32, UInt32?) = (0, nil)
        catalog.forEachEntry(of: index, after: start) { name, child, cookie in
          body(name, catalog.state(child).number)
          count += 1
          if count < FileSystem.slice { return true }
          reached = cookie
          return false
        }
        return reached
      }
    }
  }

  /// The path of a directory from the root of the space, without a leading `/`; the root's is empty. Throws
  /// `.notFound` for a removed directory.
  package func path(of directory: InodeNumber) throws(FSError) -> [UInt8] {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> [UInt8] in
      FileSystem.path(of: try InodeIndex(directory: directory, in: catalog), catalog)
    }
  }

  static func path(of directory: InodeIndex, _ catalog: borrowing Catalog) -> [UInt8] {
    let names = catalog.index(of: .root).map { catalog.names(from: $0, to: directory) } ?? []
    return Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
  }

  /// Looks up a path from the root of the space; follows no symbolic link.
  package func resolve(path: [UInt8]) throws(FSError) -> InodeNumber {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> InodeNumber in
      var at = try InodeIndex(.root, in: catalog)
      for name in path.split(separator: UInt8(ascii: "/")) where name != [UInt8(ascii: ".")] {
        if !catalog.state(at).isDirectory { throw FSError(.notDirectory) }
        guard let name = try? FileName(Array(name)),
          let next = ThumbView.resolve(name, in: at, catalog)
        else { throw FSError(.notFound) }
        at = next.index
      }
      return catalog.state(at).number
    }
  }

  /// Calls `body` with every regular file below a directory that has an entry, and its path from the root.
  /// Takes the catalog's lock for one directory at a time.
  func forEachFile(under top: InodeNumber, _ body: ([UInt8], InodeState) -> Void) {
    var waiting: [(directory: InodeNumber, path: [UInt8])] = []
    waiting.append((top, (try? path(of: top)) ?? []))
    while let (directory, path) = waiting.popLast() {
      var files: [(path: [UInt8], state: InodeState)] = []
      space.read { catalog in
        guard let index = catalog.index(of: directory), catalog.state(index).isDirectory else {
          return
        }
        catalog.forEachEntry(of: index) { name, child, _ in
          let full = path.isEmpty ? name.bytes : path + [UInt8(ascii: "/")] + name.bytes
          let state = catalog.state(child)
          if state.isDirectory { waiting.append((state.number, full)) }
          if state.kind == .regular { files.append((full, state)) }
          return true
        }
      }
      for file in files { body(file.path, file.state) }
    }
  }
}
