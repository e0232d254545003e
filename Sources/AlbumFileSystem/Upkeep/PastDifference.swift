import AlbumFormat
package import AlbumModel
import AlbumStore

/// How the tree of one point differs from that of another one, or from that of now.
package struct PastDifference: Sendable {
  package enum Change: Sendable, Equatable {
    case added, removed, changed
    case renamed(to: [UInt8])
  }

  /// By paths from the root. A folder stands for all that is in it.
  package var changes: [(path: [UInt8], change: Change)] = []
}

extension FileSystem {
  private struct Pair {
    var path: [UInt8]
    var old: InodeNumber
    var new: InodeNumber
  }

  private struct Found {
    var number: InodeNumber
    /// The inode that has its state and content.
    var version: InodeNumber
    var state: InodeState
  }

  /// Compares two points; nil: with the present.
  package func difference(from old: InodeNumber, to new: InodeNumber?) throws(FSError)
    -> PastDifference
  {
    let new = new ?? .present
    var (added, removed) = ([InodeNumber: [UInt8]](), [InodeNumber: [UInt8]]())
    var result = PastDifference()
    // A circle is damage, and must not be one here.
    var entered: Set<InodeNumber> = [.root]
    var waiting = [Pair(path: [], old: .root, new: .root)]
    while let pair = waiting.popLast() {
      let names = try pastNames(in: pair.old, at: old).union(pastNames(in: pair.new, at: new))
      for name in names.sorted() {
        let path = pair.path + (pair.path.isEmpty ? [] : [UInt8(ascii: "/")]) + name.bytes
        let was = try found(name, in: pair.old, at: old)
        let now = try found(name, in: pair.new, at: new)
        switch (was, now) {
        case (nil, nil): continue
        case (let was?, nil): removed[was.number] = path
        case (nil, let now?): added[now.number] = path
        case (let was?, let now?):
          if was.state.isDirectory, now.state.isDirectory {
            if !entered.insert(now.number).inserted { continue }
            if !describesAlike(was, now) { result.changes.append((path, .changed)) }
            waiting.append(Pair(path: path, old: was.number, new: now.number))
          } else if was.number != now.number || isChanged(was, now) {
            result.changes.append((path, .changed))
          }
        }
      }
    }
    for (number, path) in removed {
      result.changes.append(
        (path, added.removeValue(forKey: number).map { .renamed(to: $0) } ?? .removed))
    }
    for path in added.values { result.changes.append((path, .added)) }
    result.changes.sort { $0.path.lexicographicallyPrecedes($1.path) }
    return result
  }

  private func isChanged(_ was: Found, _ now: Found) -> Bool {
    if was.version == now.version { return false }
    return was.state.contentVersion != now.state.contentVersion
      || !was.state.looksLike(now.state) || !describesAlike(was, now)
  }

  private func describesAlike(_ was: Found, _ now: Found) -> Bool {
    was.version == now.version
      || space.read { catalog in
        guard let one = catalog.index(of: was.version), let other = catalog.index(of: now.version)
        else { return false }
        return catalog.describesAlike(one, other)
      }
  }

  private func found(_ name: FileName, in directory: InodeNumber, at point: InodeNumber)
    throws(FSError) -> Found?
  {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> Found? in
      let index = try InodeIndex(directory, at: point, in: catalog)
      guard let child = catalog.child(name, of: index, at: point) else { return nil }
      let version = catalog.version(of: child, at: point)
      return Found(
        number: catalog.state(child).number, version: catalog.state(version).number,
        state: catalog.state(version))
    }
  }
}
