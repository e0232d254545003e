import AlbumFormat
package import AlbumModel
import AlbumStore
import Posix

// A listing continues where it stopped, whatever names came and went meanwhile. Its offset says which part of
// the listing is next, and after which cookie:
//
//     0            `.`
//     1            `..`
//     2 + c        entries after cookie c
//     2^33 + c     thumbnails of the photos in Photo, after cookie c of that directory
//     2 * 2^33 + c thumbnails of the photos in the album itself, likewise
//
// A name that is made during a listing gets a higher cookie than all names had at its beginning. The listing
// leaves it out until it begins anew. So it ends, and no name appears twice.

/// One open directory. Any thread.
package final class OpenDirectory: Sendable {
  /// The offset of the first part of the view.
  private static let viewOffset: Int64 = 1 << 33
  /// The number of entries that one hold of the catalog's lock visits.
  private static let batchCount = 256

  package let inode: InodeNumber
  /// True if entries come and go without a request, as thumbnails do. Then a caller must not cache the
  /// listing.
  package let changesByItself: Bool
  /// The album that the directory is or lies in.
  package let album: InodeNumber?
  private let reference: InodeReference
  private let fileSystem: FileSystem
  /// Set for a directory of the past.
  private let past: PastListing?
  /// The newest cookie of each part when the listing began. A leaf.
  private let limits = Mutex<[UInt32]>([], rank: .leaf)

  fileprivate init(
    _ directory: InodeIndex, in catalog: borrowing Catalog, of fileSystem: FileSystem
  ) {
    let zone = Zone(of: directory, in: catalog)
    changesByItself = zone.isThumb
    album = zone.album.map { catalog.state($0).number }
    reference = InodeReference(directory, in: catalog, of: fileSystem.space)
    inode = reference.inode
    self.fileSystem = fileSystem
    past = nil
  }

  /// A directory of the past. The list of points changes.
  fileprivate init(past node: InodeNumber, _ target: PastTarget, of fileSystem: FileSystem) {
    changesByItself = target == .list
    album = nil
    reference = InodeReference(fileSystem.past, target, photos: nil)
    inode = node
    self.fileSystem = fileSystem
    past = PastListing(node, of: fileSystem)
  }

  /// Calls `body` with the entries after `offset` (0: the beginning), `.` and `..` first, until it returns
  /// false. That entry comes first in the next call.
  package func list(from offset: Int64, _ body: (ListedEntry) -> Bool) throws(FSError) {
    if let past { return try past.list(from: offset, attributes: false) { line, _ in body(line) } }
    var position = offset
    while true {
      let batch = try fileSystem.space.read {
        (catalog: borrowing Catalog) throws(FSError) -> [Line] in
        lines(try InodeIndex(inode, in: catalog), in: catalog, from: position, attributes: false)
      }
      for line in batch {
        if !body(line.listed) { return }
        position = line.listed.nextOffset
      }
      if batch.isEmpty { return }
    }
  }

  /// Does the same with the inode of each name; nil for `.` and `..`.
  package func listWithAttributes(from offset: Int64, _ body: (ListedEntry, Entry?) -> Bool)
    throws(FSError)
  {
    if let past { return try past.list(from: offset, attributes: true, body) }
    var position = offset
    while true {
      let batch = try fileSystem.space.read {
        (catalog: borrowing Catalog) throws(FSError) -> [Line] in
        lines(try InodeIndex(inode, in: catalog), in: catalog, from: position, attributes: true)
      }
      for line in batch {
        if !body(line.listed, line.entry.map(fileSystem.current)) { return }
        position = line.listed.nextOffset
      }
      if batch.isEmpty { return }
    }
  }

  // MARK: Inside, under the catalog's lock

  fileprivate struct Line {
    var listed: ListedEntry
    var entry: Entry?
  }

  private func lines(
    _ directory: InodeIndex, in catalog: borrowing Catalog, from offset: Int64, attributes: Bool
  ) -> [Line] {
    if catalog.state(directory).links == 0 { return [] }
    let parts = [directory] + ThumbView.photoDirectories(shownIn: directory, catalog)
    let limits = limits(parts, in: catalog, from: offset)
    var lines = dots(directory, in: catalog, from: offset)
    var start = max(offset, 2)
    for (number, part) in parts.enumerated() {
      let base = number == 0 ? 2 : Int64(number) * OpenDirectory.viewOffset
      let end = Int64(number + 1) * OpenDirectory.viewOffset
      if start >= end { continue }
      let cookie = UInt32(clamping: max(0, start - base))
      catalog.forEachEntry(of: part, after: cookie) { name, child, cookie in
        if number >= limits.count || cookie > limits[number] { return false }
        if let line = Line(
          name, child, in: directory, isView: number > 0, offset: base + Int64(cookie),
          catalog, of: attributes ? fileSystem.space : nil)
        {
          lines.append(line)
        }
        return lines.count < OpenDirectory.batchCount
      }
      if lines.count >= OpenDirectory.batchCount { break }
      start = end
    }
    return lines
  }

  private func limits(
    _ parts: [InodeIndex], in catalog: borrowing Catalog, from offset: Int64
  ) -> [UInt32] {
    var newest: [UInt32] = []
    for part in parts { newest.append(catalog.lastCookie(of: part)) }
    return limits.withLock { limits in
      if offset == 0 || limits.isEmpty { limits = newest }
      return limits
    }
  }

  private func dots(
    _ directory: InodeIndex, in catalog: borrowing Catalog, from offset: Int64
  ) -> [Line] {
    var lines: [Line] = []
    let numbers = [inode, catalog.parent(of: directory)]
    for place in max(0, Int(clamping: offset))..<max(2, Int(clamping: offset)) where place < 2 {
      let name = FileName(dots: place + 1)
      lines.append(
        Line(
          listed: ListedEntry(
            name: name, inode: numbers[place], kind: .directory, nextOffset: Int64(place + 1))))
    }
    return lines
  }
}

extension OpenDirectory.Line {
  /// With `space`, looks up the entry too. Returns nil if the name is not shown or belongs to another part.
  fileprivate init?(
    _ name: FileName, _ child: InodeIndex, in directory: InodeIndex, isView: Bool, offset: Int64,
    _ catalog: borrowing Catalog, of space: Space?
  ) {
    var resolution = Resolution(index: child)
    if isView {
      guard catalog.state(child).kind == .regular, catalog.state(child).thumbnail.rawValue != 0,
        let shown = ThumbView.resolve(name, in: directory, catalog), shown.photo == child
      else { return nil }
      resolution = shown
    } else if Zone(of: directory, in: catalog).isThumb {
      // If a newer thumbnail supersedes an entry, the view lists the name.
      guard let shown = ThumbView.resolve(name, in: directory, catalog), shown.index == child else {
        return nil
      }
    }
    let state = catalog.state(resolution.index)
    listed = ListedEntry(
      name: name, inode: state.number, kind: state.kind, nextOffset: offset)
    entry = space.map { Entry(resolution, name, in: directory, catalog, of: $0) }
  }
}

extension FileSystem {
  package func openDirectory(_ inode: InodeNumber) throws(FSError) -> OpenDirectory {
    let inode = node(inode)
    if inode.isPast {
      guard let target = past.node(inode)?.target else { throw FSError(.stale) }
      if try pastAttributes(of: inode).kind != .directory { throw FSError(.notDirectory) }
      return OpenDirectory(past: inode, target, of: self)
    }
    return try space.read { (catalog: borrowing Catalog) throws(FSError) -> OpenDirectory in
      let index = try InodeIndex(inode, in: catalog)
      if !catalog.state(index).isDirectory { throw FSError(.notDirectory) }
      return OpenDirectory(index, in: catalog, of: self)
    }
  }
}
