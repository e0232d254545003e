import AlbumFormat
import AlbumModel
import AlbumStore
import Posix

/// The listing of an open directory of the past: as it was when it began. Any thread.
final class PastListing: Sendable {
  private struct Line {
    var name: FileName
    var kind: FileKind
    var inode: InodeNumber
  }

  private let node: InodeNumber
  private let fileSystem: FileSystem
  private let lines = Mutex<[Line]?>(nil, rank: .leaf)

  init(_ node: InodeNumber, of fileSystem: FileSystem) {
    self.node = node
    self.fileSystem = fileSystem
  }

  /// Calls `body` with the entries after `offset`, `.` and `..` first, until it returns false.
  func list(
    from offset: Int64, attributes: Bool, _ body: (ListedEntry, Entry?) -> Bool
  ) throws(FSError) {
    let lines = try current(from: offset)
    for place in max(0, Int(clamping: offset))..<max(lines.count, Int(clamping: offset)) {
      let line = lines[place]
      let listed = ListedEntry(
        name: line.name, inode: line.inode, kind: line.kind, nextOffset: Int64(place + 1))
      // An entry that expired since the listing began has no attributes, and a look-up finds it no more.
      let entry =
        attributes && place > 1 ? try? fileSystem.pastEntry(line.name, in: node) : nil
      if !body(listed, entry) { return }
    }
  }

  private func current(from offset: Int64) throws(FSError) -> [Line] {
    if offset > 0, let lines = lines.withLock({ $0 }) { return lines }
    let dots = (1...2).map { Line(name: FileName(dots: $0), kind: .directory, inode: node) }
    let new = dots + (try read())
    lines.withLock { $0 = new }
    return new
  }

  private func read() throws(FSError) -> [Line] {
    switch fileSystem.past.node(node)?.target {
    case .list:
      return fileSystem.space.points.map {
        Line(name: $0.name, kind: .directory, inode: $0.number.inPast)
      }
    case .inode(let inode, let point):
      return try read(inode, at: point, fileSystem.past.node(node)?.photos)
    default: throw FSError(.notDirectory)
    }
  }

  private func read(_ inode: InodeNumber, at point: InodeNumber, _ photos: PastPhotos?)
    throws(FSError) -> [Line]
  {
    let shown = [photos?.folder, photos?.album].compactMap { $0 }
    var lines: [FileName: Line] = [:]
    for directory in [inode] + shown {
      for name in try fileSystem.pastNames(in: directory, at: point) where lines[name] == nil {
        let line = try fileSystem.space.read {
          (catalog: borrowing Catalog) throws(FSError) -> Line? in
          let index = try InodeIndex(inode, at: point, in: catalog)
          let past = PastDirectory(index: index, point: point, photos: photos)
          guard let found = past.resolve(name, in: catalog) else { return nil }
          return Line(
            name: name, kind: catalog.state(found).kind, inode: catalog.state(found).number.inPast)
        }
        if let line { lines[name] = line }
      }
    }
    return lines.values.sorted { $0.name < $1.name }
  }
}

extension FileSystem {
  /// The names in a directory at a point: those that it still has, some at a time, and those that
  /// have changed since.
  func pastNames(in inode: InodeNumber, at point: InodeNumber) throws(FSError) -> Set<FileName> {
    var names: Set<FileName> = []
    var last: UInt32? = 0
    while let start = last {
      last = try space.read { (catalog: borrowing Catalog) throws(FSError) -> UInt32? in
        let index = try InodeIndex(inode, at: point, in: catalog)
        var (count, reached): (Int, UInt32?) = (0, nil)
        catalog.forEachEntry(of: index, at: point, after: start) { name, child, cookie in
          if child != nil { names.insert(name) }
          (count, reached) = (count + 1, cookie)
          return count < FileSystem.pastBatch
        }
        return count < FileSystem.pastBatch ? nil : reached
      }
    }
    var cursor = PastNameCursor()
    while !cursor.isAtEnd {
      names.formUnion(
        try space.read { (catalog: borrowing Catalog) throws(FSError) in
          let index = try InodeIndex(inode, at: point, in: catalog)
          return catalog.changedNames(of: index, since: point, &cursor).map(\.name)
        })
    }
    return names
  }

  private static let pastBatch = 256
}

extension InodeNumber {
  /// The number in a listing. A look-up gives another one.
  fileprivate var inPast: InodeNumber { InodeNumber(rawValue | 1 << 63) }
}
