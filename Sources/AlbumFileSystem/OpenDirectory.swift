import AlbumFormat
package import AlbumModel
import AlbumStore
import Posix

// A listing goes on where it stopped, whatever came and went meanwhile. Offsets say which part of
// the listing is next, and behind which cookie:
//
//     0            `.`
//     1            `..`
//     2 + c        entries behind cookie c
//     2^33 + c     what the view shows of Photo, behind cookie c of that directory
//     2 * 2^33 + c the same of the album itself
//
// Names that are made while somebody lists have higher cookies than all at the beginning, and are
// left out until the listing begins anew: so it ends, and no name comes twice.

/// One open directory. Any thread.
package final class OpenDirectory: Sendable {
  /// Offset of the first part of the view.
  private static let viewOffset: Int64 = 1 << 33
  /// So many entries are looked at under one hold of the catalog's lock.
  private static let batchCount = 256

  package let inode: InodeNumber
  /// Whether entries come and go without anybody's asking, as thumbnails do: nobody may keep what
  /// was listed.
  package let changesByItself: Bool
  private let fileSystem: FileSystem
  /// The newest cookie of each part when the listing began. A leaf.
  private let limits = Mutex<[UInt32]>([], rank: .leaf)

  init(_ inode: InodeNumber, of fileSystem: FileSystem, changesByItself: Bool) {
    self.inode = inode
    self.changesByItself = changesByItself
    self.fileSystem = fileSystem
  }

  /// Calls `body` with the entries behind `offset` (0: the beginning), `.` and `..` first, until it
  /// answers false; that entry comes first in the next call.
  package func list(from offset: Int64, _ body: (ListedEntry) -> Bool) throws(FSError) {
    var position = offset
    while true {
      let batch = try fileSystem.space.read {
        (catalog: borrowing Catalog) throws(FSError) -> [Line] in
        lines(try catalog.require(inode), in: catalog, from: position, attributes: false)
      }
      for line in batch {
        if !body(line.listed) { return }
        position = line.listed.nextOffset
      }
      if batch.isEmpty { return }
    }
  }

  /// The same with each entry's attributes; nil for `.` and `..`. Counts a reference for each entry
  /// with attributes for which `body` answered true.
  package func listWithAttributes(from offset: Int64, _ body: (ListedEntry, Entry?) -> Bool)
    throws(FSError)
  {
    var position = offset
    while true {
      let batch = try fileSystem.space.change {
        (catalog: inout Catalog) throws(FSError) -> [Line] in
        let batch = lines(
          try catalog.require(inode), in: catalog, from: position, attributes: true)
        for line in batch where line.found != nil {
          if let index = catalog.index(of: line.listed.inode) { catalog.pin(index) }
        }
        return batch
      }
      for (number, line) in batch.enumerated() {
        if !body(line.listed, line.found.map(fileSystem.entry)) {
          giveBack(batch[number...])
          return
        }
        position = line.listed.nextOffset
      }
      if batch.isEmpty { return }
    }
  }

  package func release() { fileSystem.forget(inode, count: 1) }

  private func giveBack(_ lines: ArraySlice<Line>) {
    fileSystem.space.change { catalog in
      for line in lines where line.found != nil {
        if let index = catalog.index(of: line.listed.inode) { catalog.unpin(index) }
      }
    }
  }

  // MARK: Inside, under the catalog's lock

  private struct Line {
    var listed: ListedEntry
    var found: FileSystem.Found?
  }

  private func lines(
    _ directory: InodeIndex, in catalog: borrowing Catalog, from offset: Int64, attributes: Bool
  ) -> [Line] {
    if catalog.state(directory).links == 0 { return [] }
    let parts = [directory] + catalog.photoDirectories(shownIn: directory)
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
        if let line = catalog.line(
          name, child, in: directory, isView: number > 0, offset: base + Int64(cookie),
          attributes: attributes, part: part)
        {
          lines.append(Line(listed: line.0, found: line.1))
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

extension Catalog {
  /// One line of a listing; nil for what is not shown, or in another part.
  fileprivate func line(
    _ name: [UInt8], _ child: InodeIndex, in directory: InodeIndex, isView: Bool, offset: Int64,
    attributes: Bool, part: InodeIndex
  ) -> (ListedEntry, FileSystem.Found?)? {
    guard let fileName = try? FileName(name) else { return nil }
    var resolution = Resolution(index: child)
    if isView {
      guard state(child).kind == .regular, state(child).thumbnail.rawValue != 0,
        let shown = resolve(name, in: directory), shown.photo == child
      else { return nil }
      resolution = shown
    } else if zone(of: directory).isThumb {
      // An entry that a newer thumbnail goes before comes with the view.
      guard let shown = resolve(name, in: directory), shown.index == child else { return nil }
    }
    let state = state(resolution.index)
    let listed = ListedEntry(
      name: fileName, inode: state.number, kind: state.kind, nextOffset: offset)
    return (listed, attributes ? found(resolution, fileName, in: directory) : nil)
  }
}

extension FileSystem {
  package func openDirectory(_ inode: InodeNumber, for caller: Caller) throws(FSError)
    -> OpenDirectory
  {
    let album = try space.change {
      (catalog: inout Catalog) throws(FSError) -> InodeNumber? in
      let index = try catalog.require(inode)
      if !catalog.state(index).isDirectory { throw FSError(.notDirectory) }
      catalog.pin(index)
      return catalog.zone(of: index).album.map { catalog.state($0).number }
    }
    if let album { implicit.listed(inode, of: album, by: caller) }
    let isThumb = space.read { catalog in
      catalog.index(of: inode).map { catalog.zone(of: $0).isThumb } ?? false
    }
    return OpenDirectory(inode, of: self, changesByItself: isThumb)
  }
}
