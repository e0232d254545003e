import AlbumFormat
package import AlbumModel
import AlbumStore

// Brings back what was at a path at a point. It adds, and removes nothing: what is there as it was stays, and
// what lacks comes back under its name, or beside what has the name now. A file without a name comes back
// itself. Of one that was changed or moved since, a copy does, which shares the content. So a full disk does
// not matter. A change of the owner, the permissions or an attribute counts, too. A folder that is there
// keeps its own.

/// The result of a restore from a point.
package struct PastRestored: Sendable {
  package var count = 0
  /// The files that got another name than they had, with their new paths.
  package var renamed: [(path: [UInt8], newPath: [UInt8])] = []
}

extension FileSystem {
  /// One name that is to come back.
  private struct Wanted {
    var name: FileName
    var inode: InodeNumber
    /// The directory of today.
    var home: InodeNumber
    var path: [UInt8]
  }

  /// Brings back a file or folder, with everything in it, as it was at a point. The empty path is the whole
  /// space. Throws `.notFound` if there was none.
  package func restore(_ path: [UInt8], at point: InodeNumber) throws(FSError) -> PastRestored {
    try writable()
    var restored = PastRestored()
    var folders = RestoredFolders()
    var waiting = try start(path, at: point, &folders)
    // A circle is damage, and must not be one here.
    var entered: Set<InodeNumber> = [.root]
    while let next = waiting.popLast() {
      let (restoring, home) = try restore(next, at: point, &folders)
      report(restoring, next.path, &restored)
      guard let home, entered.insert(next.inode).inserted else { continue }
      waiting += try wanted(in: next.inode, home: home, next.path, at: point)
      try storing { () throws(StoreError) in try space.commitIfCrowded() }
    }
    describe(folders, at: point)
    return restored
  }

  /// The folders that came back, from the root down. All in them has come back with them.
  private struct RestoredFolders {
    private var known: Set<InodeNumber> = []
    private(set) var found: [(home: InodeNumber, past: InodeNumber)] = []

    mutating func add(_ home: InodeNumber, as wanted: Wanted, isNew: Bool) {
      if !isNew && !known.contains(wanted.home) { return }
      known.insert(home)
      found.append((home, wanted.inode))
    }
  }

  /// Returns the directory of today, for a directory.
  private func restore(
    _ wanted: Wanted, at point: InodeNumber, _ folders: inout RestoredFolders
  ) throws(FSError) -> (PastRestoring, home: InodeNumber?) {
    let time = clock.now()
    let (restoring, home) = try space.change {
      (catalog: inout Catalog) throws(FSError) -> (PastRestoring, InodeNumber?) in
      var restoring = PastRestoring(time: time, point: point)
      let home = try restoring.restore(wanted.name, wanted.inode, in: wanted.home, &catalog)
      return (restoring, home.map { catalog.state($0).number })
    }
    if let home { folders.add(home, as: wanted, isNew: restoring.isNewFolder) }
    return (restoring, home)
  }

  /// Gives folders the times, owners, permissions and attributes that they had, once everything in them is
  /// back. The parts of an album are made with it.
  private func describe(_ folders: RestoredFolders, at point: InodeNumber) {
    for (home, past) in folders.found {
      let isChanged = space.change { catalog in
        guard let index = catalog.index(of: home),
          let past = try? InodeIndex(past, at: point, in: catalog)
        else { return false }
        let former = catalog.version(of: past, at: point)
        if former != index { catalog.describe(index, as: former) }
        let modified = catalog.state(former).modified
        catalog.update(index) { $0.modified = modified }
        return true
      }
      if isChanged { notifyObservers(.attributes(of: home)) }
    }
  }

  private func report(
    _ restoring: PastRestoring, _ path: [UInt8], _ restored: inout PastRestored
  ) {
    for change in restoring.base.changes { notifyObservers(change) }
    if let photo = restoring.base.due { considerPhoto(photo) }
    guard let newPath = restoring.newPath else { return }
    restored.count += 1
    if newPath != path { restored.renamed.append((path, newPath)) }
  }

  /// The names at a path, from the root down, which come back with what is there.
  private func start(
    _ path: [UInt8], at point: InodeNumber, _ folders: inout RestoredFolders
  ) throws(FSError) -> [Wanted] {
    let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    if names.isEmpty { return try wanted(in: .root, home: .root, [], at: point) }
    var (past, home) = (InodeNumber.root, InodeNumber.root)
    for (place, bytes) in names.enumerated() {
      guard let name = try? FileName(bytes) else { throw FSError(.notFound) }
      let (child, isDirectory) = try pastChild(name, in: past, at: point)
      let wanted = Wanted(
        name: name, inode: child, home: home,
        path: Array(names[...place].joined(separator: [UInt8(ascii: "/")])))
      if place == names.count - 1 { return [wanted] }
      if !isDirectory { throw FSError(.notFound) }
      home = try ensureFolder(wanted, at: point, &folders)
      past = child
    }
    return []
  }

  private func pastChild(_ name: FileName, in directory: InodeNumber, at point: InodeNumber)
    throws(FSError) -> (InodeNumber, isDirectory: Bool)
  {
    try space.read { (catalog: borrowing Catalog) throws(FSError) -> (InodeNumber, Bool) in
      let index = try InodeIndex(directory, at: point, in: catalog)
      guard let child = catalog.child(name, of: index, at: point) else { throw FSError(.notFound) }
      return (catalog.state(child).number, catalog.state(child).isDirectory)
    }
  }

  private func ensureFolder(
    _ wanted: Wanted, at point: InodeNumber, _ folders: inout RestoredFolders
  ) throws(FSError) -> InodeNumber {
    let (restoring, home) = try restore(wanted, at: point, &folders)
    for change in restoring.base.changes { notifyObservers(change) }
    guard let home else { throw FSError(.notFound) }
    return home
  }

  private func wanted(
    in directory: InodeNumber, home: InodeNumber, _ path: [UInt8], at point: InodeNumber
  ) throws(FSError) -> [Wanted] {
    var found: [Wanted] = []
    for name in try pastNames(in: directory, at: point).sorted(by: >) {
      guard let (child, _) = try? pastChild(name, in: directory, at: point) else { continue }
      let full = path.isEmpty ? name.bytes : path + [UInt8(ascii: "/")] + name.bytes
      found.append(Wanted(name: name, inode: child, home: home, path: full))
    }
    return found
  }
}

/// The return of one name, as one step of history.
private struct PastRestoring {
  private(set) var base: Restoring
  let point: InodeNumber
  /// The path of a file that came back.
  private(set) var newPath: [UInt8]?
  /// True if a directory was not there.
  private(set) var isNewFolder = false

  init(time: Timestamp, point: InodeNumber) {
    base = Restoring(time: time)
    self.point = point
  }

  /// Returns the directory of today, for a directory.
  mutating func restore(
    _ name: FileName, _ inode: InodeNumber, in home: InodeNumber, _ catalog: inout Catalog
  ) throws(FSError) -> InodeIndex? {
    let child = try InodeIndex(inode, at: point, in: catalog)
    let directory = try InodeIndex(directory: home, in: catalog)
    if !catalog.state(child).isDirectory {
      restore(file: child, name, in: directory, &catalog)
      return nil
    }
    if let there = Restoring.directory(name, in: directory, catalog) { return there }
    isNewFolder = true
    if catalog.state(child).links == 0 {
      return base.bringBack(child, name, in: directory, &catalog)
    }
    let free = Restoring.freeName(name, in: directory, catalog)
    return base.make(free, like: catalog.version(of: child, at: point), in: directory, &catalog)
  }

  private mutating func restore(
    file: InodeIndex, _ name: FileName, in directory: InodeIndex, _ catalog: inout Catalog
  ) {
    let version = catalog.version(of: file, at: point)
    // It may have come back before, beside what has its name.
    var attempt = 0
    while let there = catalog.child(Restoring.candidate(name, attempt), of: directory) {
      if catalog.isSame(there, version) { return }
      attempt += 1
    }
    let isItself = version == file && catalog.state(file).links == 0
    let target = isItself ? file : catalog.copy(of: version)
    if !isItself, let thumbnail = catalog.thumbnail(of: file, at: point) {
      catalog.setMadeThumbnail(thumbnail, of: target)
    }
    let free = Restoring.candidate(name, attempt)
    base.give(free, in: directory, to: target, &catalog)
    base.arrive(target, free, in: directory, &catalog)
    newPath = FileSystem.path(of: directory, catalog)
    newPath! += (newPath!.isEmpty ? [] : [UInt8(ascii: "/")]) + free.bytes
  }
}

extension Catalog {
  /// True if a file is as a version of it, or of another one, says.
  fileprivate func isSame(_ file: InodeIndex, _ version: InodeIndex) -> Bool {
    let (own, other) = (state(file), state(version))
    if file == version { return true }
    return own.kind == other.kind && own.size == other.size && own.modified == other.modified
      && extents(of: file, from: 0, to: .max) == extents(of: version, from: 0, to: .max)
      && describesAlike(file, version)
  }
}
