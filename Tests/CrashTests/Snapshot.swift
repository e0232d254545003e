import AlbumFormat
import AlbumModel
import AlbumStore

@testable import AlbumFileSystem

/// Everything that a space holds at one moment, by path: what a person can see, and all other recorded state.
/// For open files, the state in the catalog.
struct Snapshot: Equatable, Sendable {
  struct Entry: Equatable, Sendable {
    /// Kind, mode, size, times, owner, links, thumbnail.
    var state: InodeState
    var content: [UInt8] = []
    var attributes: [[UInt8]: [UInt8]] = [:]
  }

  /// A stretch of a file.
  struct Piece: Equatable, Sendable {
    var offset: Int
    var bytes: [UInt8]
  }

  private(set) var entries: [String: Entry] = [:]
  /// Files of which some content does not decrypt, with the content that does. Their entries hold no content.
  private(set) var unreadable: [String: [Piece]] = [:]
  /// The files that the space keeps as deleted, by the number of the inode, and the former path of those that
  /// were removed.
  private(set) var deleted: [String: Entry] = [:]
  /// What each point shows, by the number of the point and the path.
  private(set) var past: [String: Entry] = [:]

  /// Lists and reads everything, each record included. Throws where something does not decrypt, or with
  /// `toleratesErrors` only where something cannot be listed. Calls `didRead` after each file.
  init(
    _ mounted: MountedSpace, toleratesErrors: Bool = false,
    didRead: (String) -> Void = { _ in }
  ) throws {
    try add(.root, "", mounted, toleratesErrors, didRead)
    try addDeleted(mounted, toleratesErrors)
    if toleratesErrors { return }
    for point in mounted.space.points {
      try addPast(.root, at: point.number, "\(point.number.rawValue)", mounted)
    }
  }

  private mutating func addPast(
    _ inode: InodeNumber, at point: InodeNumber, _ path: String, _ mounted: MountedSpace
  ) throws {
    let version = try mounted.space.read { (catalog) throws(FSError) in
      let index = try InodeIndex(inode, at: point, in: catalog)
      return catalog.state(catalog.version(of: index, at: point)).number
    }
    var found = try Snapshot.entry(version, mounted, false).0
    found.state = found.state.shown(as: inode)
    past[path] = found
    if path.count > 1000 { throw Finding(text: "directories nest without an end at a point") }
    if found.state.kind != .directory { return }
    for name in try mounted.fileSystem.pastNames(in: inode, at: point) {
      let child = try mounted.space.read { (catalog) throws(FSError) in
        let index = try InodeIndex(inode, at: point, in: catalog)
        return catalog.child(name, of: index, at: point).map { catalog.state($0).number }
      }
      if let child { try addPast(child, at: point, "\(path)/\(name.display)", mounted) }
    }
  }

  private mutating func addDeleted(_ mounted: MountedSpace, _ toleratesErrors: Bool) throws {
    var place: UInt32? = 0
    while let start = place {
      let page = mounted.fileSystem.deletedFiles(from: start)
      for file in page.files {
        // The path of a version is that of its file, and one of several if the file has hard links.
        let path =
          file.cause == .overwritten ? "a version" : String(decoding: file.path, as: UTF8.self)
        deleted["\(file.inode.rawValue) \(path)"] =
          try Snapshot.entry(file.inode, mounted, toleratesErrors).0
      }
      place = page.next
    }
  }

  private mutating func add(
    _ inode: InodeNumber, _ path: String, _ mounted: MountedSpace, _ toleratesErrors: Bool,
    _ didRead: (String) -> Void
  ) throws {
    let (found, pieces) = try Snapshot.entry(inode, mounted, toleratesErrors)
    didRead(path)
    entries[path] = found
    unreadable[path] = pieces
    if path.count > 1000 { throw Finding(text: "directories nest without an end") }
    if found.state.kind != .directory { return }
    let directory = try mounted.fileSystem.openDirectory(inode)
    var children: [ListedEntry] = []
    try directory.list(from: 2) { entry in
      children.append(entry)
      return true
    }
    for child in children {
      let name = child.name.display
      let childPath = path.isEmpty ? name : "\(path)/\(name)"
      try add(child.inode, childPath, mounted, toleratesErrors, didRead)
    }
  }

  /// Returns an entry, and the readable part of its content if not all of it decrypts.
  private static func entry(
    _ inode: InodeNumber, _ mounted: MountedSpace, _ toleratesErrors: Bool
  ) throws -> (Entry, [Piece]?) {
    let (entry, extents) = try mounted.space.read { catalog throws(FSError) -> (Entry, [Extent]) in
      let index = try InodeIndex(inode, in: catalog)
      var entry = Entry(state: catalog.state(index))
      // Counts frames, which no person sees.
      entry.state.contentStatements = 0
      for name in catalog.attributeNames(of: index) {
        entry.attributes[name] = catalog.attribute(name, of: index)
      }
      return (entry, catalog.extents(of: index, from: 0, to: entry.state.size))
    }
    var result = entry
    if entry.state.kind != .regular { return (result, nil) }
    do throws(StoreError) {
      result.content = try content(Int(entry.state.size), extents, mounted.space)
    } catch {
      if !toleratesErrors { throw error }
      return (result, readable(extents, mounted.space))
    }
    return (result, nil)
  }

  /// Returns the readable content in stretches that do not touch.
  private static func readable(_ extents: [Extent], _ space: Space) -> [Piece] {
    var pieces: [Piece] = []
    for extent in extents {
      guard let bytes = try? content(Int(extent.length), [extent], space, from: extent.offset)
      else { continue }
      if let last = pieces.last, last.offset + last.bytes.count == Int(extent.offset) {
        pieces[pieces.count - 1].bytes += bytes
      } else {
        pieces.append(Piece(offset: Int(extent.offset), bytes: bytes))
      }
    }
    return pieces
  }

  private static func content(
    _ count: Int, _ extents: [Extent], _ space: Space, from start: Int64 = 0
  ) throws(StoreError) -> [UInt8] {
    let headroom = ReadHeadroom.byteCount
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: headroom + count, alignment: 64)
    defer { unsafe memory.deallocate() }
    let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[headroom...])
    try unsafe space.fill(buffer, at: start, from: extents)
    return unsafe [UInt8](buffer)
  }
}

extension Snapshot {
  /// Returns a copy with another entry at a path, or with none: what a test pretends to have seen.
  func pretending(_ entry: Entry?, at path: String) -> Snapshot {
    var result = self
    result.entries[path] = entry
    return result
  }

  /// Describes the difference between two snapshots.
  func difference(from other: Snapshot) -> String {
    var words: [String] = []
    for path in Set(entries.keys).union(other.entries.keys).sorted() {
      switch (entries[path], other.entries[path]) {
      case (nil, _): words.append("no \(path)")
      case (_, nil): words.append("also \(path)")
      case (let one?, let two?) where one != two: words.append(one.difference(from: two, path))
      default: break
      }
    }
    for path in Set(deleted.keys).union(other.deleted.keys).sorted()
    where deleted[path] != other.deleted[path] {
      words.append("the deleted file \(path) differs")
    }
    for path in Set(past.keys).union(other.past.keys).sorted() where past[path] != other.past[path]
    {
      words.append("the point shows \(path) as something else")
    }
    return words.joined(separator: ", ")
  }
}

extension Snapshot.Entry {
  fileprivate func difference(from other: Snapshot.Entry, _ path: String) -> String {
    if state.size != other.state.size {
      return "\(path) has \(state.size) bytes and not \(other.state.size)"
    }
    if content != other.content { return "\(path) holds something else" }
    if attributes != other.attributes { return "\(path) has other extended attributes" }
    return "\(path) is \(state) and not \(other.state)"
  }
}

extension InodeState {
  /// What a point shows of a state, whether a version holds it or the inode itself.
  fileprivate func shown(as inode: InodeNumber) -> InodeState {
    var shown = InodeState(number: inode, kind: kind, permissions: permissions)
    (shown.size, shown.modified, shown.owner, shown.group) = (size, modified, owner, group)
    shown.contentVersion = contentVersion
    return shown
  }
}
