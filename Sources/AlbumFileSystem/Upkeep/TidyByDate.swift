import AlbumFormat
package import AlbumModel
import AlbumStore
import PhotoGroups
import PictureMetadata
import Posix

// `albumfs tidy --by-date` moves the photos of an album into albums below it, one for each day of capture. A
// photo without such a date goes by its name, and else by its modification time. What belongs to a photo goes
// with it. Like `tidy`, it never overwrites.
//
// Groups and dates come from names and from what the thumbnailer found. The daemon has keys and reads no
// picture.

extension FileSystem {
  /// Moves the photos that lie in an album and directly in its Photo. A preview changes nothing. Throws
  /// `.invalid` if it is no album.
  package func tidyByDate(_ album: InodeNumber, preview: Bool = false) throws(FSError) -> TidyReport
  {
    if !preview { try writable() }
    let (listings, path) = try space.read {
      (catalog: borrowing Catalog) throws(FSError) -> ([DatePlan.Listing], [UInt8]) in
      let index = try InodeIndex(directory: album, in: catalog)
      if !catalog.state(index).marks.contains(.album) { throw FSError(.invalid, "no album") }
      return (DatePlan.listings(of: index, catalog), FileSystem.path(of: index, catalog))
    }
    // Groups and dates of names take long in a large album, and need no catalog.
    let plan = DatePlan(listings)
    var report = TidyReport()
    report.undated = plan.undated.map { joined(path, [$0]) }
    var albums: [FileName: DayAlbum] = [:]
    for group in plan.groups {
      let before = report.moves.count
      let names = group.photos.map { photo in
        joined(path, photo.folder.map { [$0, photo.name] } ?? [photo.name])
      }
      do throws(FSError) {
        var target = DayAlbum()
        if let known = albums[group.day] {
          target = known
        } else {
          target = try dayAlbum(group.day, in: album, preview: preview)
          albums[group.day] = target
        }
        try requireFree(group, in: target)
        for (photo, inAlbum) in zip(group.photos, names) {
          var move = TidyReport.Move(
            album: photo.directory, photo: photo.number, name: photo.name, path: inAlbum)
          move.newPath = joined(path, [group.day, .photo, photo.name])
          if !preview { try self.move(&move, from: photo, to: target) }
          if target.isNew {
            move.newAlbum = TidyReport.NewAlbum(name: group.day, directory: album)
          }
          report.moves.append(move)
        }
      } catch {
        guard [.exists, .notDirectory].contains(error.code) else { throw error }
        report.clashes += names.dropFirst(report.moves.count - before)
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

  /// Throws `.exists` if another file has the name of a member: a group stays together.
  private func requireFree(_ group: DatePlan.Group, in album: DayAlbum) throws(FSError) {
    guard let target = album.photo else { return }
    for photo in group.photos where entry(photo.name, in: target) != nil {
      throw FSError(.exists)
    }
  }

  private func move(
    _ move: inout TidyReport.Move, from photo: DatePlan.Photo, to album: DayAlbum
  ) throws(FSError) {
    guard let target = album.photo else { return }
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
  }

  /// A photo and what belongs to it.
  struct Group {
    var photos: [Photo]
    var day: FileName
  }

  /// The files of one directory, and what the catalog knows of them.
  struct Listing {
    let directory: InodeNumber
    let folder: FileName?
    fileprivate let files: [Found]
  }

  /// A file that `tidy` found.
  fileprivate struct Found {
    let name: FileName
    let number: InodeNumber
    let isPhoto: Bool
    /// True if its date is not known before its thumbnail is made.
    let isPending: Bool
    let taken: CaptureTime?
    let isFilm: Bool
    let modified: Int64

    var date: FileDate? {
      taken.map { FileDate(stated: $0, isFilm: isFilm).refined(by: name.bytes) }
    }
  }

  private(set) var groups: [Group] = []
  /// Photos whose date is not known before their thumbnail is made.
  private(set) var undated: [FileName] = []

  init(_ listings: [Listing]) {
    for listing in listings { add(listing) }
  }

  private mutating func add(_ listing: Listing) {
    let files = listing.files.sorted { $0.name < $1.name }
    let offsets = KnownOffsets(of: files.lazy.compactMap(\.date))
    for group in PhotoGrouping.groups(of: files.map(\.name)) {
      let members = group.members.map { files[$0.place] }
      // A sidecar alone is no photo.
      if !members.contains(where: \.isPhoto) { continue }
      let date = members.lazy.compactMap(\.date).first
      if date == nil, members.contains(where: \.isPending) {
        undated += members.map(\.name)
        continue
      }
      let named = members.lazy.compactMap { FileDate(in: $0.name.bytes) }.first
      let day =
        (date ?? named)?.day(beside: offsets, machineDay: SystemClock.localDay)
        ?? SystemClock.localDay(seconds: members[0].modified)
      let photos = members.map {
        Photo(
          directory: listing.directory, folder: listing.folder, name: $0.name, number: $0.number)
      }
      groups.append(Group(photos: photos, day: FileName(known: Array(day.utf8))))
    }
  }

  /// The album itself, and its Photo.
  static func listings(of album: InodeIndex, _ catalog: borrowing Catalog) -> [Listing] {
    let own = listing(album, nil, catalog)
    let photo = AlbumRules.photoDirectory(of: album, catalog)
    return [own] + (photo.map { [listing($0, .photo, catalog)] } ?? [])
  }

  private static func listing(
    _ directory: InodeIndex, _ folder: FileName?, _ catalog: borrowing Catalog
  ) -> Listing {
    var entries: [(name: FileName, index: InodeIndex)] = []
    catalog.forEachEntry(of: directory) { name, child, _ in
      if catalog.state(child).kind == .regular, !name.isHidden { entries.append((name, child)) }
      return true
    }
    var files: [Found] = []
    for (name, index) in entries {
      let state = catalog.state(index)
      files.append(
        Found(
          name: name, number: state.number, isPhoto: state.isPhoto,
          isPending: state.isPhoto && state.needsThumbnail,
          taken: PhotoAttributes.taken(of: index, catalog),
          isFilm: PhotoAttributes.isFilm(index, catalog), modified: state.modified.seconds))
    }
    return Listing(
      directory: catalog.state(directory).number, folder: folder, files: files)
  }
}
