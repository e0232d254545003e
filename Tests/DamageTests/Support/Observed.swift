import AlbumFormat
import AlbumModel

@testable import AlbumStore

/// Everything in the catalog of a mount, by path. A photo's thumbnail has the photo's path with `#thumbnail`.
struct Observed: Equatable {
  struct Item: Equatable {
    var state: InodeState
    var extents: [Extent]
    var target: [UInt8]
    var attributes: [[UInt8]: [UInt8]]
    /// The names that lead to the item, from the root on, and the photo that leads to a thumbnail.
    var way: [EntryPlace]
    var photo: InodeNumber?

    var inode: InodeNumber { state.number }
  }
  var items: [String: Item] = [:]
  /// True if directories contain each other.
  var isCyclic = false

  static let thumbnailMark = "#thumbnail"
}

extension Space {
  func observe() -> Observed {
    read { catalog in
      var observed = Observed()
      if let root = catalog.index(of: .root) { catalog.observe(root, "", [], into: &observed) }
      return observed
    }
  }
}

extension Catalog {
  fileprivate func observe(
    _ index: InodeIndex, _ path: String, _ way: [EntryPlace], into observed: inout Observed
  ) {
    if way.count > 32 {
      observed.isCyclic = true
      return
    }
    let item = item(index, way)
    observed.items[path] = item
    if item.state.thumbnail.rawValue != 0, let made = self.index(of: item.state.thumbnail) {
      var thumbnail = self.item(made, way)
      thumbnail.photo = item.inode
      observed.items[path + Observed.thumbnailMark] = thumbnail
    }
    guard item.state.kind == .directory else { return }
    forEachEntry(of: index) { name, child, _ in
      observe(
        child, path + "/" + name.display,
        way + [EntryPlace(directory: item.inode, name: name)], into: &observed)
      return true
    }
  }

  private func item(_ index: InodeIndex, _ way: [EntryPlace]) -> Observed.Item {
    var attributes: [[UInt8]: [UInt8]] = [:]
    for name in attributeNames(of: index) { attributes[name] = attribute(name, of: index) }
    return Observed.Item(
      state: state(index), extents: extents(of: index, from: 0, to: .max),
      target: symlinkTarget(index), attributes: attributes, way: way)
  }
}
