import AlbumFormat
package import AlbumModel
import AlbumStore
import Posix

// `albumfs tidy --by-date` moves the photos of an album into albums below it, one for each day of capture. A
// photo without such a date goes by its modification time. Like `tidy`, it never overwrites.

extension FileSystem {
  /// Moves the photos that lie in an album and directly in its Photo. A preview changes nothing. Throws
  /// `.invalid` if it is no album.
  package func tidyByDate(_ album: InodeNumber, preview: Bool = false) throws(FSError) -> TidyReport
  {
    if !preview { try writable() }
    let (plan, path) = try space.read {
      (catalog: borrowing Catalog) throws(FSError) -> (DatePlan, [UInt8]) in
      let index = try InodeIndex(directory: album, in: catalog)
      if !catalog.state(index).marks.contains(.album) { throw FSError(.invalid, "no album") }
      return (DatePlan(index, catalog), FileSystem.path(of: index, catalog))
    }
    var report = TidyReport()
    report.undated = plan.undated.map { joined(path, [$0]) }
    var albums: [FileName: DayAlbum] = [:]
    for photo in plan.photos {
      let inAlbum = joined(path, photo.folder.map { [$0, photo.name] } ?? [photo.name])
      var move = TidyReport.Move(
        album: photo.directory, photo: photo.number, name: photo.name, path: inAlbum)
      move.newPath = joined(path, [photo.day, .photo, photo.name])
      do throws(FSError) {
        var target = DayAlbum()
        if let known = albums[photo.day] {
          target = known
        } else {
          target = try dayAlbum(photo.day, in: album, preview: preview)
          albums[photo.day] = target
        }
        try self.move(&move, from: photo, to: target, preview: preview)
        if target.isNew { move.newAlbum = TidyReport.NewAlbum(name: photo.day, directory: album) }
        report.moves.append(move)
      } catch {
        guard [.exists, .notDirectory].contains(error.code) else { throw error }
        report.clashes.append(inAlbum)
      }
    }
    if !preview { try storing { () throws(StoreError) in try space.commit() } }
    return report
  }

  /// The album of a day.
  private struct DayAlbum {
    /// Its Photo; nil in a preview if it is missing.
    var photo: InodeNumber?
    var isNew = false
  }

  /// Throws `.exists` if something else has the name.
  private func dayAlbum(_ day: FileName, in album: InodeNumber, preview: Bool) throws(FSError)
    -> DayAlbum
  {
    let model = try attributes(of: album)
    let owner = Caller(user: model.owner, group: model.group)
    var found = DayAlbum()
    let index: InodeNumber
    if let existing = entry(day, in: album) {
      let isAlbum = space.read { catalog in
        catalog.index(of: existing).map { catalog.state($0).marks.contains(.album) } ?? false
      }
      if !isAlbum { throw FSError(.exists) }
      index = existing
    } else {
      if preview { return DayAlbum() }
      index = try makeDirectory(day, in: album, permissions: model.permissions, for: owner)
        .attributes.inode
      found.isNew = true
    }
    found.photo = entry(.photo, in: index)
    if found.photo == nil, !preview {
      found.photo = try makeDirectory(
        .photo, in: index, permissions: model.permissions, for: owner
      ).attributes.inode
    }
    return found
  }

  private func move(
    _ move: inout TidyReport.Move, from photo: DatePlan.Photo, to album: DayAlbum, preview: Bool
  ) throws(FSError) {
    guard let target = album.photo else { return }
    if preview {
      if entry(photo.name, in: target) != nil { throw FSError(.exists) }
      return
    }
    try rename(
      photo.name, in: photo.directory, to: photo.name, in: target,
      mode: RenameMode(noReplace: true))
    move.target = target
  }

  private func joined(_ path: [UInt8], _ names: [FileName]) -> [UInt8] {
    let parts = (path.isEmpty ? [] : [path]) + names.map(\.bytes)
    return Array(parts.joined(separator: [UInt8(ascii: "/")]))
  }
}

/// Which photo of an album belongs to which day.
private struct DatePlan {
  struct Photo {
    var directory: InodeNumber
    /// The name of the directory; nil for the album itself.
    var folder: FileName?
    var name: FileName
    var number: InodeNumber
    var day: FileName
  }

  var photos: [Photo] = []
  /// Photos whose date is not known before their thumbnail is made.
  var undated: [FileName] = []

  init(_ album: InodeIndex, _ catalog: borrowing Catalog) {
    add(album, nil, catalog)
    if let photo = AlbumRules.photoDirectory(of: album, catalog) { add(photo, .photo, catalog) }
  }

  private mutating func add(
    _ directory: InodeIndex, _ folder: FileName?, _ catalog: borrowing Catalog
  ) {
    var files: [(name: FileName, index: InodeIndex)] = []
    catalog.forEachEntry(of: directory) { name, child, _ in
      if catalog.state(child).isPhoto, !name.isHidden { files.append((name, child)) }
      return true
    }
    let number = catalog.state(directory).number
    for (name, index) in files {
      let state = catalog.state(index)
      let taken = PhotoAttributes.taken(of: index, catalog)
      if taken == nil, state.needsThumbnail {
        undated.append(name)
        continue
      }
      let local = SystemClock.localTime(seconds: state.modified.seconds).prefix { $0 != " " }
      guard let day = try? FileName(Array((taken?.day ?? String(local)).utf8)) else { continue }
      photos.append(
        Photo(directory: number, folder: folder, name: name, number: state.number, day: day))
    }
  }
}
