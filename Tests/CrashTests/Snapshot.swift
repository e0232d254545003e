import AlbumFormat
import AlbumModel
import AlbumStore

@testable import AlbumFileSystem

/// All that a space holds at one moment, by path: what a person could see and all that is stated of
/// it besides. Of open files, what the catalog knows.
struct Snapshot: Equatable, Sendable {
  struct Entry: Equatable, Sendable {
    /// Kind, mode, size, times, owner, links, thumbnail.
    var state: InodeState
    var content: [UInt8] = []
    var attributes: [[UInt8]: [UInt8]] = [:]
  }

  private(set) var entries: [String: Entry] = [:]

  /// Lists and reads all there is, each record among it. Throws where something does not open.
  init(_ mounted: MountedSpace) throws {
    try add(.root, "", mounted)
  }

  private mutating func add(_ inode: InodeNumber, _ path: String, _ mounted: MountedSpace) throws {
    let found = try Snapshot.entry(inode, mounted)
    entries[path] = found
    if found.state.kind != .directory { return }
    let directory = try mounted.fileSystem.openDirectory(inode, for: .daemon)
    defer { directory.release() }
    var children: [ListedEntry] = []
    try directory.list(from: 2) { entry in
      children.append(entry)
      return true
    }
    for child in children {
      let name = child.name.display
      try add(child.inode, path.isEmpty ? name : "\(path)/\(name)", mounted)
    }
  }

  private static func entry(_ inode: InodeNumber, _ mounted: MountedSpace) throws -> Entry {
    let (entry, extents) = try mounted.space.read { catalog throws(FSError) -> (Entry, [Extent]) in
      let index = try catalog.require(inode)
      var entry = Entry(state: catalog.state(index))
      // Counts frames, and no person sees it.
      entry.state.contentStatements = 0
      for name in catalog.attributeNames(of: index) {
        entry.attributes[name] = catalog.attribute(name, of: index)
      }
      return (entry, catalog.extents(of: index, from: 0, to: entry.state.size))
    }
    var result = entry
    if entry.state.kind == .regular {
      result.content = try content(Int(entry.state.size), extents, mounted.space)
    }
    return result
  }

  private static func content(_ count: Int, _ extents: [Extent], _ space: Space) throws(StoreError)
    -> [UInt8]
  {
    let headroom = ReadHeadroom.byteCount
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: headroom + count, alignment: 64)
    defer { unsafe memory.deallocate() }
    let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[headroom...])
    try unsafe space.fill(buffer, at: 0, from: extents)
    return unsafe [UInt8](buffer)
  }
}

extension Snapshot {
  /// What makes two of them differ, in words.
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
