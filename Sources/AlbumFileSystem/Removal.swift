import AlbumFormat
package import AlbumModel
import AlbumStore

extension FileSystem {
  package func unlink(_ name: FileName, in parent: InodeNumber, for caller: Caller = .daemon)
    throws(FSError)
  {
    try writable()
    let meant = self.meant.take(name, by: caller)
    let time = clock.now()
    let moment = space.removalMoment(time)
    let album = try space.change { (catalog: inout Catalog) throws(FSError) -> InodeNumber? in
      let directory = try InodeIndex(directory: parent, in: catalog)
      let zone = Zone(of: directory, in: catalog)
      if zone.isThumb { ThumbView.dropSuperseded(name, in: directory, &catalog) }
      guard let found = ThumbView.resolve(name, in: directory, catalog) else {
        throw FSError(.notFound)
      }
      if catalog.state(found.index).isDirectory { throw FSError(.isDirectory) }
      if let meant, catalog.state(found.index).number != meant { throw FSError(.notFound) }
      if found.photo == nil {
        catalog.removeEntry(name, in: directory, at: moment)
      } else {
        catalog.update(found.index) { $0.changed = time }
      }
      if zone.isThumb { ThumbView.giveUpThumbnail(for: name, in: directory, &catalog) }
      catalog.touch(directory, time)
      return zone.album.map { catalog.state($0).number }
    }
    notifyObservers(.name(name, in: parent, album: album, isThere: false), askedBy: caller)
  }

  package func removeDirectory(
    _ name: FileName, in parent: InodeNumber, for caller: Caller = .daemon
  ) throws(FSError) {
    try writable()
    let time = clock.now()
    let moment = space.removalMoment(time)
    let (twin, album) = try space.change {
      (catalog: inout Catalog) throws(FSError) -> (InodeNumber?, InodeNumber?) in
      let directory = try InodeIndex(directory: parent, in: catalog)
      guard let child = ThumbView.resolve(name, in: directory, catalog)?.index else {
        throw FSError(.notFound)
      }
      if !catalog.state(child).isDirectory { throw FSError(.notDirectory) }
      if !AlbumRemoval.isFreeOfUser(child, catalog) { throw FSError(.notEmpty) }
      catalog.beginRemoval(of: name, child, at: moment)
      AlbumRemoval.removeTree(name, in: directory, &catalog)
      catalog.touch(directory, time)
      let album = Zone(of: directory, in: catalog).album.map { catalog.state($0).number }
      return (Twins.drop(of: name, in: directory, &catalog), album)
    }
    notifyObservers(.name(name, in: parent, album: album, isThere: false), askedBy: caller)
    if let twin { notifyObservers(.name(name, in: twin, album: album, isThere: false)) }
  }
}
