import AlbumModel
import PhotoGroups
import Posix

/// The files of one album, by name and by content. Reads contents only where two files have the same size.
struct AlbumContents {
  private struct Known {
    /// Leads to its content.
    let path: PlainPath
    /// Its path in the album. Only in a dry run it differs.
    let place: PlainPath
    /// True once a file of this import has become this one, or was found to be it.
    var isMatched = false
    /// A hash of the first bytes; nil until another file has the same size.
    var head: Int?
    /// That of a file that a dry run left in its zip file.
    var checksum: UInt32?
  }

  /// A file of the album that another one equals.
  struct Twin {
    let path: PlainPath
    let place: PlainPath
    /// The number that it has if it has the other's name; nil if it has another name.
    let number: Int?

    var hasName: Bool { number != nil }
  }

  /// How much of files of the same size is compared by hash. It holds the EXIF data of a raw picture, all of
  /// which have one size.
  private static let headBytes = 64 << 10

  /// The path of the album's Photo.
  let photo: PlainPath
  private var names: Set<FileName> = []
  private var files: [Int64: [Known]] = [:]

  /// Looks at the files in an album and in its Photo. One that is missing is empty.
  init(album: PlainPath) {
    photo = album.appending(.photo)
    list(album)
    names = []
    list(photo)
  }

  private mutating func list(_ folder: PlainPath) {
    for name in (try? folder.names()) ?? [] {
      names.insert(name)
      let path = folder.appending(name)
      if !name.isHidden, let entry = try? PlainEntry(path), entry.kind == .file {
        files[entry.size, default: []].append(Known(path: path, place: path))
      }
    }
  }

  func isTaken(_ name: FileName) -> Bool { names.contains(name) }

  /// Notes that a name is taken, by a file of this import or by another program.
  mutating func take(_ name: FileName) { names.insert(name) }

  /// Adds a file of this import that the album now holds at `place`. `path` leads to its content.
  mutating func add(
    _ path: PlainPath, at place: PlainPath, size: Int64, checksum: UInt32? = nil
  ) {
    files[size, default: []].append(
      Known(path: path, place: place, isMatched: true, checksum: checksum))
  }

  /// The file of the album that is the same one; nil if there is none. `FileIdentity` says what makes two
  /// files the same. For a file that `follows` another one, only pictures and films are looked for: whether a
  /// sidecar is there, its leader's place tells.
  mutating func twin(
    of path: PlainPath, name: MemberName, size: Int64, follows: Bool = false,
    watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Twin? {
    guard let known = files[size] else { return nil }
    let head = try AlbumContents.sourceHead(of: path)
    let identity = FileIdentity(name.name, size: size, start: head)
    if follows, identity == .nameAndContent { return nil }
    for index in candidates(known, identity, name) {
      if try isEqual(index, path, size: size, head: head.hashValue, watch: watch) {
        return match(index, size: size, name)
      }
    }
    return nil
  }

  /// The file of the album with exactly this name, if it has the content of another one, of which `name` are
  /// the names.
  mutating func twin(
    named wanted: FileName, of path: PlainPath, name: MemberName, size: Int64,
    watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Twin? {
    guard let index = try place(named: wanted, of: path, size: size, watch: watch) else {
      return nil
    }
    return match(index, size: size, name)
  }

  /// True if the name is free, or if the file that has it has this content.
  mutating func isFree(
    _ wanted: FileName, for path: PlainPath, size: Int64, watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Bool {
    if !isTaken(wanted) { return true }
    return try place(named: wanted, of: path, size: size, watch: watch) != nil
  }

  private mutating func place(
    named wanted: FileName, of path: PlainPath, size: Int64, watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Int? {
    guard let known = files[size] else { return nil }
    let named = known.indices.filter { known[$0].place.name == wanted }
    if named.isEmpty { return nil }
    let head = try AlbumContents.sourceHead(of: path).hashValue
    for index in named {
      if try isEqual(index, path, size: size, head: head, watch: watch) { return index }
    }
    return nil
  }

  private mutating func isEqual(
    _ index: Int, _ path: PlainPath, size: Int64, head: Int, watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Bool {
    guard let candidate = files[size]?[index],
      let other = candidate.head ?? (try? AlbumContents.head(of: candidate.path))?.hashValue
    else { return false }
    files[size]?[index].head = other
    if other != head { return false }
    do throws(PlainCopy.Fault) {
      return try PlainCopy.isEqual(path, candidate.path, watch: watch)
    } catch {
      // A file of the album that cannot be read is no copy.
      if case .target = error { return false }
      throw error
    }
  }

  /// A file of the album with the size and the checksum of a file in a zip file. For a dry run, which unpacks
  /// nothing; content decides otherwise.
  mutating func likelyTwin(
    of member: ZipDirectory.Member, name: MemberName, follows: Bool = false
  ) -> Twin? {
    guard let known = files[member.size] else { return nil }
    let identity = FileIdentity(name.name, size: member.size, start: [])
    if follows, identity == .nameAndContent { return nil }
    let found = candidates(known, identity, name).first { index in
      (known[index].checksum ?? AlbumContents.checksum(of: known[index].path)) == member.checksum
    }
    return found.flatMap { match($0, size: member.size, name) }
  }

  /// Notes that a file of the album is one of this import.
  private mutating func match(_ index: Int, size: Int64, _ name: MemberName) -> Twin? {
    files[size]?[index].isMatched = true
    guard let known = files[size]?[index] else { return nil }
    return Twin(
      path: known.path, place: known.place, number: known.place.name.flatMap(name.number))
  }

  private static func has(_ known: Known, _ name: MemberName) -> Bool {
    known.place.name.map { name.number(of: $0) != nil } ?? false
  }

  /// Those of the name come first. A file that its name identifies stands for one other only: two sidecars of
  /// one name, from two folders, are two.
  private func candidates(
    _ known: [Known], _ identity: FileIdentity, _ name: MemberName
  ) -> [Int] {
    let named = known.indices.filter { AlbumContents.has(known[$0], name) }
    switch identity {
    case .nameAndContent: return named.filter { !known[$0].isMatched }
    case .content: return named + known.indices.filter { !named.contains($0) }
    }
  }

  private static func checksum(of path: PlainPath) -> UInt32? {
    guard let reader = try? PlainReader(path) else { return nil }
    var checksum = CRC32()
    var place: Int64 = 0
    while let piece = try? reader.bytes(1 << 20, at: place), !piece.isEmpty {
      checksum.add(piece[...])
      place += Int64(piece.count)
    }
    return checksum.value
  }

  private static func sourceHead(of path: PlainPath) throws(PlainCopy.Fault) -> [UInt8] {
    do throws(Errno) { return try head(of: path) } catch { throw .source(error) }
  }

  private static func head(of path: PlainPath) throws(Errno) -> [UInt8] {
    try PlainFiles.head(of: path, atMost: headBytes)
  }
}

/// A file that is being copied has a name that shows no program and gets no thumbnail.
enum PartialFile {
  private static let prefix = ".albumfs-partial-"

  /// A process copies one group at a time. `place` is that of the file in its group.
  static func path(in folder: PlainPath, process: Int32, place: Int = 0) -> PlainPath {
    let number = place == 0 ? "" : "-\(place)"
    return folder.appending(FileName(known: Array("\(prefix)\(process)\(number)".utf8)))
  }

  /// Removes what killed processes left in a folder.
  static func clean(_ folder: PlainPath, process: Int32) {
    for name in (try? folder.names()) ?? [] where name.bytes.starts(with: prefix.utf8) {
      let number = name.text.dropFirst(prefix.count).prefix { $0 != "-" }
      guard let maker = Int32(number) else { continue }
      let isGone = ProcessState.name(of: maker).isEmpty || ProcessState.isZombie(maker)
      if maker == process || isGone {
        try? PathCalls.removeFile(folder.appending(name))
      }
    }
  }
}
