import AlbumFormat
import AlbumModel

@testable import AlbumStore

/// Uses a replayed catalog as a mounted space would. Whatever items it comes from, it can be read, written as
/// a checkpoint, loaded from that, changed, and emptied.
enum CatalogProbe {
  /// Replays items and ends the replay; nil if they are malformed.
  static func replayed(_ items: [[UInt8]]) -> Catalog? {
    var catalog = Catalog()
    catalog.beginReplay()
    for bytes in items {
      do throws(FormatError) { try decodeItems(bytes) { catalog.apply($0) } } catch { return nil }
    }
    _ = catalog.finishReplay()
    var audit = CatalogAudit(catalog)
    audit.auditContent(catalog, segmentSize: FixedSpace.segmentSize)
    _ = catalog.reconcile(audit)
    require(catalog.reconcile() == 0, "a second call corrects nothing")
    return catalog
  }

  static func use(_ catalog: inout Catalog) {
    look(at: catalog)
    let written = checkpoint(of: catalog)
    guard let again = replayed([written]) else {
      fatalError("broken promise: what was replayed can be written as a checkpoint and read back")
    }
    require(again.inodeCount == catalog.inodeCount, "a checkpoint holds every inode")
    look(at: again)
    change(&catalog)
    look(at: catalog)
    empty(&catalog)
    look(at: catalog)
  }

  private static func checkpoint(of catalog: borrowing Catalog) -> [UInt8] {
    var bytes = catalog.encodeSpace()
    var inodes = InodeCursor()
    while !inodes.isAtEnd { bytes += catalog.encodeInodes(&inodes, count: 512) }
    var cursor = NameCursor()
    while !cursor.isAtEnd { bytes += catalog.encodeNames(&cursor, count: 1024) }
    var former: UInt32 = 0
    while let items = catalog.encodeFormers(&former, count: 1024) { bytes += items }
    return bytes
  }

  private static func look(at catalog: borrowing Catalog) {
    var all: [InodeIndex] = []
    catalog.forEachInode { index, _ in all.append(index) }
    var named: [InodeNumber: UInt32] = [:]
    for index in all {
      let state = catalog.state(index)
      require(catalog.index(of: state.number) == index, "an inode is found by its number")
      _ = catalog.attributes(index)
      var end: Int64 = 0
      for extent in catalog.extents(of: index, from: 0, to: .max) {
        require(extent.offset >= end && extent.length > 0, "extents are in order")
        end = extent.end
      }
      _ = catalog.symlinkTarget(index)
      for name in catalog.attributeNames(of: index) { _ = catalog.attribute(name, of: index) }
      guard state.kind == .directory else { continue }
      _ = catalog.name(of: index)
      climb(from: index, in: catalog)
      catalog.forEachEntry(of: index) { name, child, _ in
        require(catalog.child(name, of: index) == child, "a name that is listed is found")
        require((try? FileName(name.bytes)) != nil, "a name that is listed can be asked for")
        named[catalog.state(child).number, default: 0] += 1
        return true
      }
    }
    for index in all {
      let state = catalog.state(index)
      if state.kind == .directory {
        require(named[state.number, default: 0] <= 1, "a directory has one name")
      } else {
        require(state.links >= named[state.number, default: 0], "every name of a file is counted")
      }
    }
  }

  /// Requires that a climb from the directory reaches the root.
  private static func climb(from directory: InodeIndex, in catalog: borrowing Catalog) {
    var place = directory
    for _ in 0...catalog.inodeCount {
      if catalog.state(place).number == .root { return }
      guard let parent = catalog.index(of: catalog.parent(of: place)) else { return }
      if catalog.state(parent).kind != .directory { fatalError("a parent that is no directory") }
      place = parent
    }
    fatalError("broken promise: directories do not hold one another in a circle")
  }

  private static func change(_ catalog: inout Catalog) {
    let time = Timestamp(nanoseconds: 1)
    let file = catalog.create(
      kind: .regular, permissions: 0o644, owner: 0, group: 0, time: time)
    let folder = catalog.create(
      kind: .directory, permissions: 0o755, owner: 0, group: 0, time: time)
    if let root = catalog.index(of: .root), catalog.state(root).kind == .directory {
      for (child, name) in [
        (file, FileName(literal: "new file")), (folder, FileName(literal: "new folder")),
      ] {
        if catalog.child(name, of: root) != nil { continue }
        catalog.insertEntry(name, in: root, child: child)
      }
    }
    let segment = catalog.takeDataSegment()
    _ = catalog.takeCheckpointSegment()
    _ = catalog.takeSequence(count: 2)
    let extent = Extent(offset: 0, length: 10, segment: segment, grid: 0, skip: 0)
    catalog.hold(extent)
    catalog.replaceExtents(of: file, from: 0, to: 10, with: [extent])
    var all: [InodeNumber] = []
    catalog.forEachInode { _, state in if state.kind == .regular { all.append(state.number) } }
    for number in all.prefix(8) {
      // A thumbnail without a name may have gone with the last photo that had it.
      guard let index = catalog.index(of: number) else { continue }
      let held = Extent(offset: 5, length: 7, segment: segment, grid: 1, skip: 0)
      catalog.hold(held)
      catalog.replaceExtents(of: index, from: 5, to: 12, with: [held])
      catalog.setThumbnail(file, of: index)
      catalog.replaceExtents(of: index, from: 1, to: .max, with: [])
    }
    catalog.unpin(file)
    catalog.unpin(folder)
    state(&catalog)
  }

  /// Removes every name.
  private static func empty(_ catalog: inout Catalog) {
    var names: [(InodeNumber, FileName)] = []
    var directories: [InodeIndex] = []
    catalog.forEachInode { index, state in
      if state.kind == .directory { directories.append(index) }
    }
    for directory in directories {
      let number = catalog.state(directory).number
      catalog.forEachEntry(of: directory) { name, _, _ in
        names.append((number, name))
        return true
      }
    }
    for (number, name) in names {
      if let directory = catalog.index(of: number) { catalog.removeEntry(name, in: directory) }
    }
    catalog.releaseReserve()
    state(&catalog)
  }

  /// Takes a frame, and requires that its items can be decoded.
  private static func state(_ catalog: inout Catalog) {
    let frame = catalog.takeChanges()
    do throws(FormatError) { try decodeItems(frame) { _ in } } catch {
      fatalError("broken promise: a frame can be read back, but: \(error)")
    }
  }
}
