import AlbumFormat
package import AlbumModel
import AlbumStore

/// What is in a space, for `status`.
package struct SpaceContents: Sendable {
  package var albums = 0
  /// Files at a photo's place that have a thumbnail, wait for one, or are damaged pictures.
  package var photos = 0
  /// Made by albumfs, and not the user's own since.
  package var thumbnails = 0
  /// All regular files, photos and thumbnails included.
  package var files = 0
  package var bytes: Int64 = 0
}

extension FileSystem {
  package func counts() -> SpaceContents {
    var contents = SpaceContents()
    forEachInode { state in
      if state.links == 0 || state.marks.contains(.leftOut) { return }
      if state.marks.contains(.album) { contents.albums += 1 }
      if state.kind != .regular { return }
      contents.files += 1
      contents.bytes += state.size
      if state.isPhoto {
        contents.photos += 1
      } else if state.marks.contains(.madeThumbnail) {
        contents.thumbnails += 1
      }
    }
    return contents
  }

  /// Calls `body` with every inode, in no order. Takes the catalog's lock for some thousands at a time:
  /// what comes or goes meanwhile may be missed.
  func forEachInode(_ body: (InodeState) -> Void) {
    var place: UInt32? = 0
    while let start = place {
      place = space.read { catalog in
        catalog.forEachInode(from: start, limit: 4096) { _, state in body(state) }
      }
    }
  }

  /// All names of an inode. Looks at every entry of the space, one directory at a time.
  package func names(of inode: InodeNumber) -> [(name: FileName, directory: InodeNumber)] {
    var directories: [InodeNumber] = []
    forEachInode { if $0.isDirectory { directories.append($0.number) } }
    var names: [(name: FileName, directory: InodeNumber)] = []
    for directory in directories {
      space.read { catalog in
        guard let index = catalog.index(of: directory), let wanted = catalog.index(of: inode) else {
          return
        }
        catalog.forEachEntry(of: index) { name, child, _ in
          if child == wanted, let name = try? FileName(name) { names.append((name, directory)) }
          return true
        }
      }
    }
    return names
  }

  /// The path of a directory from the root of the space, without a leading `/`; the root's is empty.
  /// `.notFound` for one that was removed.
  package func path(of directory: InodeNumber) throws(FSError) -> [UInt8] {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> [UInt8] in
      FileSystem.path(of: try InodeIndex(directory: directory, in: catalog), catalog)
    }
  }

  static func path(of directory: InodeIndex, _ catalog: borrowing Catalog) -> [UInt8] {
    let names = catalog.index(of: .root).map { catalog.names(from: $0, to: directory) } ?? []
    return Array(names.joined(separator: [UInt8(ascii: "/")]))
  }

  /// What a path from the root of the space leads to; follows no symbolic link.
  package func resolve(path: [UInt8]) throws(FSError) -> InodeNumber {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> InodeNumber in
      var at = try InodeIndex(.root, in: catalog)
      for name in path.split(separator: UInt8(ascii: "/")) where name != [UInt8(ascii: ".")] {
        if !catalog.state(at).isDirectory { throw FSError(.notDirectory) }
        guard let next = ThumbView.resolve(Array(name), in: at, catalog) else {
          throw FSError(.notFound)
        }
        at = next.index
      }
      return catalog.state(at).number
    }
  }

  /// Calls `body` with every regular file that an entry names below a directory, and its path from
  /// the root. Takes the catalog's lock for one directory at a time.
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
          let full = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
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
