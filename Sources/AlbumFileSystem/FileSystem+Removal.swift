import AlbumFormat
package import AlbumModel
import AlbumStore

extension FileSystem {
  package func unlink(_ name: FileName, in parent: InodeNumber) throws(FSError) {
    try writable()
    let time = clock.now()
    try space.change { (catalog: inout Catalog) throws(FSError) in
      let directory = try catalog.requireDirectory(parent)
      let isThumb = catalog.zone(of: directory).isThumb
      if isThumb { catalog.dropSuperseded(name.bytes, in: directory) }
      guard let found = catalog.resolve(name.bytes, in: directory) else {
        throw FSError(.notFound)
      }
      if catalog.state(found.index).isDirectory { throw FSError(.isDirectory) }
      catalog.update(found.index) { $0.changed = time }
      if found.photo == nil { catalog.removeEntry(name.bytes, in: directory) }
      if isThumb { catalog.giveUpThumbnail(for: name.bytes, in: directory) }
      catalog.touch(directory, time)
    }
  }

  package func removeDirectory(_ name: FileName, in parent: InodeNumber)
    throws(FSError)
  {
    try writable()
    let time = clock.now()
    let twin = try space.change { (catalog: inout Catalog) throws(FSError) -> InodeNumber? in
      let directory = try catalog.requireDirectory(parent)
      guard let child = catalog.resolve(name.bytes, in: directory)?.index else {
        throw FSError(.notFound)
      }
      if !catalog.state(child).isDirectory { throw FSError(.notDirectory) }
      if !catalog.isFreeOfUser(child) { throw FSError(.notEmpty) }
      catalog.removeTree(name.bytes, in: directory)
      catalog.touch(directory, time)
      return catalog.dropTwin(of: name.bytes, in: directory)
    }
    if let twin { notifier.forget(entry: name, in: twin) }
  }
}

extension Catalog {
  /// A folder of this name has gone from a directory of the Photo zone: so does its twin. Answers
  /// the directory of the Thumb zone that had it.
  mutating func dropTwin(of name: [UInt8], in directory: InodeIndex) -> InodeNumber? {
    guard case .photo = zone(of: directory), let twin = twin(of: directory) else { return nil }
    return dropTwin(name, in: twin) ? state(twin).number : nil
  }
}
