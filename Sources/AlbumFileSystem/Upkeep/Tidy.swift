import AlbumFormat
package import AlbumModel
import AlbumStore
import PhotoGroups

// `albumfs tidy` moves the photos that lie directly in an album into its Photo. It never overwrites: it
// reports a name that exists already, and leaves what belongs to that photo beside it.

/// The result of tidying.
package struct TidyReport: Sendable {
  /// A photo that moved, and where it was.
  package struct Move: Sendable {
    /// The directory that it was in.
    var album: InodeNumber
    var photo: InodeNumber
    var name: FileName
    /// Its former path from the root of the space.
    package var path: [UInt8]
    /// Where it is after a move by date, likewise.
    package var newPath: [UInt8] = []
    /// The directory that it is in then.
    var target: InodeNumber?
    /// The album that was made for it.
    var newAlbum: NewAlbum?
  }

  struct NewAlbum: Hashable {
    var name: FileName
    var directory: InodeNumber
  }

  package var moves: [Move] = []
  /// Photos that stayed in their place because another file has their name there: paths from the root.
  package var clashes: [[UInt8]] = []
  /// Photos that stayed because their date is not known before their thumbnail is made: likewise.
  package var undated: [[UInt8]] = []
}

extension FileSystem {
  /// Tidies one album, or all if nil. A preview changes nothing, and reports what tidying would do. Throws
  /// `.invalid` if it is no album.
  package func tidy(_ album: InodeNumber?, preview: Bool = false) throws(FSError) -> TidyReport {
    if !preview { try writable() }
    var report = TidyReport()
    for album in album.map({ [$0] }) ?? allAlbums() { try tidyOne(album, preview, &report) }
    if !preview { try storing { () throws(StoreError) in try space.commit() } }
    return report
  }

  /// Moves photos that `tidy` moved back to where they were. Leaves those alone that are not in Photo under
  /// their name any more.
  package func undo(_ moves: [TidyReport.Move]) throws(FSError) -> TidyReport {
    try writable()
    var report = TidyReport()
    let time = clock.now()
    for move in moves {
      let outcome = space.change { catalog in Tidying.undo(move, time, &catalog) }
      switch outcome {
      case .moved(let photo):
        report.moves.append(move)
        notifyObservers(.name(move.name, in: photo, album: album(of: photo), isThere: false))
        notifyObservers(
          .name(move.name, in: move.album, album: album(of: move.album), isThere: true))
      case .clashes: report.clashes.append(move.path)
      case .isElsewhere: break
      }
    }
    for place in Set(moves.compactMap(\.newAlbum)) {
      // An album in which something else is by now stays.
      try? removeDirectory(place.name, in: place.directory)
    }
    try storing { () throws(StoreError) in try space.commit() }
    return report
  }

  private func album(of directory: InodeNumber) -> InodeNumber? {
    space.read { catalog in
      catalog.index(of: directory).flatMap { Zone(of: $0, in: catalog).album }
        .map { catalog.state($0).number }
    }
  }

  private func allAlbums() -> [InodeNumber] {
    var albums: [InodeNumber] = []
    forEachInode { if $0.marks.contains(.album) && $0.links > 0 { albums.append($0.number) } }
    return albums.sorted()
  }

  private func tidyOne(_ album: InodeNumber, _ preview: Bool, _ report: inout TidyReport)
    throws(FSError)
  {
    let index = { (catalog: borrowing Catalog) throws(FSError) -> InodeIndex in
      let index = try InodeIndex(directory: album, in: catalog)
      if !catalog.state(index).marks.contains(.album) { throw FSError(.invalid, "no album") }
      return index
    }
    let time = clock.now()
    let files = try space.read { (catalog: borrowing Catalog) throws(FSError) -> [FileName] in
      Tidying.files(of: try index(catalog), catalog)
    }
    // Groups take long in a large album, and need no catalog.
    let groups = PhotoGrouping.groups(of: files).map { $0.members.map { files[$0.place] } }
    let (plan, path): (Tidying.Plan, [UInt8])
    var target: InodeNumber?
    if preview {
      (plan, path) = try space.read {
        (catalog: borrowing Catalog) throws(FSError) -> (Tidying.Plan, [UInt8]) in
        let index = try index(catalog)
        return (Tidying.plan(index, groups, catalog), FileSystem.path(of: index, catalog))
      }
    } else {
      (plan, path, target) = try space.change {
        (catalog: inout Catalog) throws(FSError) -> (Tidying.Plan, [UInt8], InodeNumber?) in
        let index = try index(catalog)
        let done = Tidying.tidy(index, groups, time, &catalog)
        let photo = AlbumRules.photoDirectory(of: index, catalog).map { catalog.state($0).number }
        return (done, FileSystem.path(of: index, catalog), photo)
      }
    }
    let full = { (name: FileName) in
      path.isEmpty ? name.bytes : path + [UInt8(ascii: "/")] + name.bytes
    }
    report.clashes += plan.clashes.map(full)
    for (name, number) in plan.photos {
      report.moves.append(
        TidyReport.Move(album: album, photo: number, name: name, path: full(name)))
      if preview { continue }
      notifyObservers(.name(name, in: album, album: album, isThere: false))
      if let target {
        notifyObservers(.name(name, in: target, album: album, isThere: true))
      }
    }
  }
}

private enum Tidying {
  /// The photos of an album that can move, and the names that cannot.
  struct Plan {
    var photos: [(name: FileName, number: InodeNumber)] = []
    var clashes: [FileName] = []
  }

  enum Undone { case moved(from: InodeNumber), clashes, isElsewhere }

  /// The files that lie directly in an album.
  static func files(of album: InodeIndex, _ catalog: borrowing Catalog) -> [FileName] {
    var files: [FileName] = []
    catalog.forEachEntry(of: album) { name, child, _ in
      if catalog.state(child).kind == .regular, !name.isHidden { files.append(name) }
      return true
    }
    return files
  }

  /// Leaves out files that are gone since they were grouped.
  static func plan(
    _ album: InodeIndex, _ groups: [[FileName]], _ catalog: borrowing Catalog
  ) -> Plan {
    let target = catalog.child(.photo, of: album)
    let isBlocked = target.map { !catalog.state($0).marks.contains(.photoDirectory) } ?? false
    var plan = Plan()
    for group in groups {
      let members = group.compactMap { name in
        catalog.child(name, of: album).map { (name: name, state: catalog.state($0)) }
      }.filter { $0.state.kind == .regular }
      let isTaken = target.map { target in
        members.contains { catalog.child($0.name, of: target) != nil }
      }
      if isBlocked || isTaken ?? false {
        plan.clashes += members.map(\.name)
      } else {
        plan.photos += members.map { ($0.name, $0.state.number) }
      }
    }
    return plan
  }

  /// Returns what moved.
  static func tidy(
    _ album: InodeIndex, _ groups: [[FileName]], _ time: Timestamp, _ catalog: inout Catalog
  ) -> Plan {
    let plan = plan(album, groups, catalog)
    if plan.photos.isEmpty { return plan }
    guard
      let target = Creation.ensureDirectory(
        .photo, in: album, like: album, marks: [.photoDirectory, .implicit],
        time: time, &catalog)
    else { return Plan(clashes: plan.clashes + plan.photos.map(\.name)) }
    for (name, _) in plan.photos { catalog.moveEntry(name, of: album, to: name, in: target) }
    catalog.touch(album, time)
    catalog.touch(target, time)
    return plan
  }

  static func undo(_ move: TidyReport.Move, _ time: Timestamp, _ catalog: inout Catalog) -> Undone {
    guard let album = catalog.index(of: move.album), catalog.state(album).isDirectory,
      catalog.state(album).links > 0,
      let folder = move.target.map({ catalog.index(of: $0) })
        ?? AlbumRules.photoDirectory(of: album, catalog),
      let child = catalog.child(move.name, of: folder), catalog.state(child).number == move.photo
    else { return .isElsewhere }
    if catalog.child(move.name, of: album) != nil { return .clashes }
    catalog.moveEntry(move.name, of: folder, to: move.name, in: album)
    catalog.touch(album, time)
    catalog.touch(folder, time)
    return .moved(from: catalog.state(folder).number)
  }
}
