internal import AlbumFormat
internal import AlbumModel
internal import AlbumSecrets
package import Posix

/// The files of a store in a directory, as objects. A file gets the time at rest that `SegmentChecksum`
/// describes. `same` holds between the threads of this process only.
package final class DirectoryStore: ObjectStore {
  package let place: String
  private let directory: PosixDirectory
  /// The folders that are known to be there; the turn to compare and replace.
  private let folders = Mutex(Set<String>(), rank: .leaf)
  private let turn = Mutex((), rank: .leaf)

  private static let segments = "segments"
  /// Behind the name of a file that is not complete, with a number.
  private static let unfinished = ".new-"
  private static let fileLimit = 1 << 30

  package init(place: String, _ directory: PosixDirectory) {
    self.place = place
    self.directory = directory
  }

  // MARK: The verbs

  @discardableResult
  package func save(
    _ name: String, _ bytes: [UInt8], _ condition: SaveCondition
  ) throws(ObjectError) -> ObjectVersion {
    try disk { () throws(Errno) in try makeFolder(of: name) }
    let temporary = "\(name)\(DirectoryStore.unfinished)\(UInt64.random(in: .min ... .max))"
    let file = try disk { () throws(Errno) in try directory.open(temporary, .createNew) }
    do throws(ObjectError) {
      try disk { () throws(Errno) in
        try file.writeAll(bytes)
        try file.setModificationTime(DirectoryStore.time(of: name, bytes))
        try file.sync()
      }
      try turn.withLock { _ throws(ObjectError) in try put(temporary, at: name, condition) }
    } catch {
      try? directory.remove(temporary)
      throw error
    }
    return try disk { () throws(Errno) in try facts(of: file).1 }
  }

  package func load(
    _ name: String, _ range: Range<Int64>?, unless known: ObjectVersion?
  ) throws(ObjectError) -> LoadedObject? {
    try disk { () throws(Errno) in
      let file = try directory.open(name, .read)
      let (size, version) = try facts(of: file)
      if version == known { return nil }
      let wanted = (range ?? 0..<size).clamped(to: 0..<size)
      if wanted.count > DirectoryStore.fileLimit { throw .tooBig }
      let bytes = try file.bytes(at: wanted.lowerBound, count: wanted.count)
      return LoadedObject(bytes: bytes, version: version)
    }
  }

  package func stat(_ name: String) throws(ObjectError) -> ObjectFacts? {
    do throws(ObjectError) {
      guard let loaded = try load(name, nil, unless: nil) else { return nil }
      return ObjectFacts(
        size: Int64(loaded.bytes.count), version: loaded.version, digest: SHA256.hash(loaded.bytes))
    } catch {
      if error == .absent { return nil }
      throw error
    }
  }

  /// A part is called by the last name before it.
  package func list(_ prefix: String, part: String?) throws(ObjectError) -> ObjectPage {
    try disk { () throws(Errno) in
      var objects: [ListedObject] = []
      for name in try names(prefix, after: part ?? "") {
        if objects.count == ObjectPage.limit {
          return ObjectPage(objects: objects, next: objects.last?.name)
        }
        // A file may have gone meanwhile.
        guard let file = try orNil({ () throws(Errno) in try directory.open(name, .read) }) else {
          continue
        }
        let (size, version) = try facts(of: file)
        objects.append(ListedObject(name: name, size: size, version: version))
      }
      return ObjectPage(objects: objects)
    }
  }

  package func remove(_ name: String) throws(ObjectError) {
    _ = try disk { () throws(Errno) in
      try orNil { () throws(Errno) in try directory.remove(name) }
    }
  }

  package func settle() throws(ObjectError) {
    for folder in folders.withLock({ $0 }).union(["", DirectoryStore.segments]) {
      try? directory.setFolderTime(folder, SegmentChecksum.firstTime)
    }
    try disk { () throws(Errno) in try directory.syncRemovals() }
  }

  package func probe() -> ObjectStoreProperties {
    ObjectStoreProperties(
      createsIfAbsent: true, replacesIfSame: true, listsAtOnce: true, checksContent: false)
  }

  // MARK: More than the verbs

  /// Makes all folders of segments, as a new store has them.
  package func makeFolders() throws(ObjectError) {
    try disk { () throws(Errno) in
      for number in UInt8.min...UInt8.max {
        try makeFolder(of: "\(DirectoryStore.segments)/\(Hexadecimal.text(number))/")
      }
    }
  }

  /// Removes what interrupted saves have left.
  package func removeUnfinished() throws(ObjectError) {
    try disk { () throws(Errno) in
      for folder in try [""] + allFolders() {
        for name in try directory.list(folder) where name.contains(DirectoryStore.unfinished) {
          try directory.remove(folder.isEmpty ? name : "\(folder)/\(name)")
        }
      }
    }
  }

  /// True if another process has a lock on the file, as the daemon of a mount has one on the conf.
  package func isLocked(_ name: String) -> Bool {
    (try? directory.open(name, .read).isLockedByOthers()) ?? false
  }

  /// Locks the whole file for this process as long as the result lives. Throws `.exists` if another process
  /// has a lock on it.
  package func lock(_ name: String) throws(ObjectError) -> any StorageFile {
    do throws(Errno) {
      let file = try directory.open(name, .readWrite)
      try file.lock(exclusive: true, offset: 0, length: 0, wait: false)
      return file
    } catch {
      if error == .again || error == .accessDenied { throw .exists }
      throw ObjectError(error)
    }
  }

  // MARK: Files

  /// Gives a finished file its name, if the condition holds.
  private func put(
    _ temporary: String, at name: String, _ condition: SaveCondition
  ) throws(ObjectError) {
    switch condition {
    case .any: break
    case .absent: return try putNew(temporary, at: name)
    case .same(let known): if try currentVersion(name) != known { throw .changed }
    }
    try disk { () throws(Errno) in try directory.rename(temporary, to: name) }
  }

  private func putNew(_ temporary: String, at name: String) throws(ObjectError) {
    do throws(Errno) { try directory.renameExclusively(temporary, to: name) } catch {
      if error == .exists { throw .exists }
      if error != .invalid, error != .notSupported { throw ObjectError(error) }
      // A file system that cannot do that creates a file exclusively, at least.
      try disk { () throws(Errno) in _ = try directory.open(name, .createNew) }
      try disk { () throws(Errno) in try directory.rename(temporary, to: name) }
    }
  }

  private func currentVersion(_ name: String) throws(ObjectError) -> ObjectVersion {
    try disk { () throws(Errno) in try facts(of: directory.open(name, .read)).1 }
  }

  /// The time of change tells two files with the same checksum apart.
  private func facts(of file: any StorageFile) throws(Errno) -> (Int64, ObjectVersion) {
    let (size, times) = (try file.size(), try file.times())
    let parts = [times.modified.nanoseconds, times.changed.nanoseconds, size]
    return (size, ObjectVersion(parts.map { "\($0)" }.joined(separator: "-")))
  }

  private static func time(of name: String, _ bytes: [UInt8]) -> Timestamp {
    name.hasPrefix("\(segments)/")
      ? SegmentChecksum.time(ofSegment: bytes) : SegmentChecksum.time(ofSmallFile: bytes)
  }

  // MARK: Folders

  private func makeFolder(of name: String) throws(Errno) {
    var folder = ""
    for part in name.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
      folder += folder.isEmpty ? part : "/\(part)"
      if folders.withLock({ $0.contains(folder) }) { continue }
      do throws(Errno) { try directory.makeDirectory(folder) } catch {
        if error != .exists { throw error }
      }
      _ = folders.withLock { $0.insert(folder) }
    }
  }

  private func allFolders() throws(Errno) -> [String] {
    guard
      let names = try orNil({ () throws(Errno) in try directory.list(DirectoryStore.segments) })
    else { return [] }
    let folders = names.filter { $0.utf8.count == 2 }.sorted()
    return folders.map { "\(DirectoryStore.segments)/\($0)" }
  }

  /// The names of finished files, in their order. Lists only the folders that may have some.
  private func names(_ prefix: String, after: String) throws(Errno) -> [String] {
    func isWanted(_ name: String) -> Bool {
      name.hasPrefix(prefix) && name > after && !name.contains(DirectoryStore.unfinished)
    }
    let small = try directory.list("").filter { $0 != DirectoryStore.segments && isWanted($0) }
    var found = small.sorted()
    for folder in try allFolders() {
      // `0` is the character behind `/`.
      let isBehind = "\(folder)0" > after
      let mayHave = folder.hasPrefix(prefix) || prefix.hasPrefix(folder)
      if !isBehind || !mayHave { continue }
      if found.count > ObjectPage.limit { break }
      let names = try directory.list(folder).map { "\(folder)/\($0)" }
      found += names.filter(isWanted).sorted()
    }
    return found.sorted()
  }

  // MARK: Errors

  /// nil if there is no such file.
  private func orNil<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result? {
    do throws(Errno) { return try body() } catch {
      if error == .noEntry || error == .notDirectory { return nil }
      throw error
    }
  }

  private func disk<Result>(_ body: () throws(Errno) -> Result) throws(ObjectError) -> Result {
    do throws(Errno) { return try body() } catch { throw ObjectError(error) }
  }
}

extension ObjectError {
  package init(_ error: Errno) {
    switch error {
    case .noEntry: self = .absent
    case .exists: self = .exists
    case .noSpace, .quota: self = .full
    default: self = .disk(error)
    }
  }
}
