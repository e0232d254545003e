import AlbumFormat
package import AlbumModel
import AlbumStore

// `albumfs tidy` moves the photos that lie directly in an album into its Photo. It never overwrites: it
// reports a name that exists already.

/// The result of tidying.
package struct TidyReport: Sendable {
  package var albums = 0
  package var moved = 0
  /// Photos that stayed in their place because Photo has their name: paths from the root of the space.
  package var clashes: [[UInt8]] = []
}

extension FileSystem {
  /// Tidies one album, or all if nil. Throws `.invalid` if it is no album.
  package func tidy(_ album: InodeNumber?) throws(FSError) -> TidyReport {
    try writable()
    var report = TidyReport()
    for album in album.map({ [$0] }) ?? allAlbums() { try tidyOne(album, &report) }
    try storing { () throws(StoreError) in try space.commit() }
    return report
  }

  private func allAlbums() -> [InodeNumber] {
    var albums: [InodeNumber] = []
    forEachInode { if $0.marks.contains(.album) && $0.links > 0 { albums.append($0.number) } }
    return albums.sorted()
  }

  private func tidyOne(_ album: InodeNumber, _ report: inout TidyReport) throws(FSError) {
    let time = clock.now()
    let result = try space.change {
      (catalog: inout Catalog) throws(FSError) -> (
        moved: [FileName], clashes: [FileName], [UInt8], InodeNumber?
      ) in
      let index = try InodeIndex(directory: album, in: catalog)
      if !catalog.state(index).marks.contains(.album) {
        throw FSError(.invalid, "no album")
      }
      let (moved, clashes) = Tidying.tidy(index, time, &catalog)
      let photo = AlbumRules.photoDirectory(of: index, catalog).map { catalog.state($0).number }
      return (moved, clashes, FileSystem.path(of: index, catalog), photo)
    }
    report.albums += 1
    report.moved += result.moved.count
    report.clashes += result.clashes.map { result.2 + [UInt8(ascii: "/")] + $0.bytes }
    for name in result.moved {
      observers.tell(.name(name, in: album, album: album, isThere: false))
      if let photo = result.3 {
        observers.tell(.name(name, in: photo, album: album, isThere: true))
      }
    }
  }
}

private enum Tidying {
  static func tidy(_ album: InodeIndex, _ time: Timestamp, _ catalog: inout Catalog)
    -> (moved: [FileName], clashes: [FileName])
  {
    var photos: [FileName] = []
    catalog.forEachEntry(of: album) { name, child, _ in
      if catalog.state(child).kind == .regular, !name.isHidden {
        photos.append(name)
      }
      return true
    }
    guard !photos.isEmpty else { return ([], []) }
    guard
      let target = Creation.ensureDirectory(
        .photo, in: album, like: album, marks: [.photoDirectory, .implicit],
        time: time, &catalog),
      catalog.state(target).marks.contains(.photoDirectory)
    else { return ([], photos) }
    var moved: [FileName] = []
    var clashes: [FileName] = []
    for name in photos {
      if catalog.child(name, of: target) != nil {
        clashes.append(name)
      } else {
        catalog.moveEntry(name, of: album, to: name, in: target)
        moved.append(name)
      }
    }
    if !moved.isEmpty {
      catalog.touch(album, time)
      catalog.touch(target, time)
    }
    return (moved, clashes)
  }
}
