import AlbumModel
import PhotoGroups
import Posix

/// The files of one album, by name and by content. Reads contents only where two files have the same size,
/// and compares only files that begin alike: an album may have thousands of raw pictures, all of one size.
struct AlbumContents {
  private struct Known {
    /// Leads to its content.
    let path: PlainPath
    /// Its path in the album. Only in a dry run it differs.
    let place: PlainPath
    let name: FileName
    /// True once a file of this import has become this one, or was found to be it.
    var isMatched = false
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

  /// The size of a file and a hash of its first bytes.
  private struct Start: Hashable {
    let size: Int64
    let hash: Int
  }

  /// How much of files of the same size is compared by hash. It holds the EXIF data of a raw picture.
  private static let headBytes = 64 << 10

  /// The path of the album's Photo.
  let photo: PlainPath
  private var names: Set<FileName> = []
  private var files: [Known] = []
  /// Places in `files`.
  private var places: [Int64: [Int]] = [:]
  /// Those of them whose first bytes were not needed yet.
  private var unread: [Int64: [Int]] = [:]
  private var starts: [Start: [Int]] = [:]

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
        add(Known(path: path, place: path, name: name), size: entry.size)
      }
    }
  }

  private mutating func add(_ file: Known, size: Int64) {
    places[size, default: []].append(files.count)
    unread[size, default: []].append(files.count)
    files.append(file)
  }

  func isTaken(_ name: FileName) -> Bool { names.contains(name) }

  /// Notes that a name is taken, by a file of this import or by another program.
  mutating func take(_ name: FileName) { names.insert(name) }

  /// Adds a file of this import that the album's Photo now holds under this name. `path` leads to its
  /// content.
  mutating func add(
    _ path: PlainPath, as name: FileName, size: Int64, checksum: UInt32? = nil
  ) {
    let place = photo.appending(name)
    add(
      Known(path: path, place: place, name: name, isMatched: true, checksum: checksum), size: size)
  }

  // MARK: Twins

  /// The file of the album that is the same one; nil if there is none. `FileIdentity` says what makes two
  /// files the same. For a file that `follows` another one, only pictures and films are looked for: whether a
  /// sidecar is there, its leader's place tells.
  mutating func twin(
    of path: PlainPath, name: MemberName, size: Int64, follows: Bool = false,
    watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Twin? {
    guard places[size] != nil else { return nil }
    let head = try AlbumContents.sourceHead(of: path)
    let identity = FileIdentity(name.name, size: size, start: head)
    if follows, identity == .nameAndContent { return nil }
    for place in ranked(alike(size: size, head), identity, name) {
      if try isEqual(path, place, watch) { return match(place, name) }
    }
    return nil
  }

  /// The file of the album with exactly this name, if it has the content of another one, of which `name` are
  /// the names.
  mutating func twin(
    named wanted: FileName, of path: PlainPath, name: MemberName, size: Int64,
    watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Twin? {
    try place(named: wanted, of: path, size: size, watch: watch).map { match($0, name) }
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
    guard places[size] != nil else { return nil }
    for place in alike(size: size, try AlbumContents.sourceHead(of: path))
    where files[place].name == wanted {
      if try isEqual(path, place, watch) { return place }
    }
    return nil
  }

  /// The files of this size that begin so. Reads the begin of each once.
  private mutating func alike(size: Int64, _ head: [UInt8]) -> [Int] {
    for place in unread.removeValue(forKey: size) ?? [] {
      // A file of the album that cannot be read is no copy.
      guard let other = try? AlbumContents.head(of: files[place].path) else { continue }
      starts[Start(size: size, hash: other.hashValue), default: []].append(place)
    }
    return starts[Start(size: size, hash: head.hashValue)] ?? []
  }

  private func isEqual(
    _ path: PlainPath, _ place: Int, _ watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Bool {
    do throws(PlainCopy.Fault) {
      return try PlainCopy.isEqual(path, files[place].path, watch: watch)
    } catch {
      if case .target = error { return false }
      throw error
    }
  }

  /// A file of the album with the size and the checksum of a file in a zip file. For a dry run, which unpacks
  /// nothing; content decides otherwise.
  mutating func likelyTwin(
    of member: ZipDirectory.Member, name: MemberName, follows: Bool = false
  ) -> Twin? {
    let identity = FileIdentity(name.name, size: member.size, start: [])
    if follows, identity == .nameAndContent { return nil }
    for place in ranked(places[member.size] ?? [], identity, name) {
      let checksum = files[place].checksum ?? AlbumContents.checksum(of: files[place].path)
      files[place].checksum = checksum
      if checksum == member.checksum { return match(place, name) }
    }
    return nil
  }

  /// Notes that a file of the album is one of this import.
  private mutating func match(_ place: Int, _ name: MemberName) -> Twin {
    files[place].isMatched = true
    let file = files[place]
    return Twin(path: file.path, place: file.place, number: name.number(of: file.name))
  }

  /// Those of the name come first. A file that its name identifies stands for one other only: two sidecars of
  /// one name, from two folders, are two.
  private func ranked(_ found: [Int], _ identity: FileIdentity, _ name: MemberName) -> [Int] {
    let named = found.filter { name.number(of: files[$0].name) != nil }
    switch identity {
    case .nameAndContent: return named.filter { !files[$0].isMatched }
    case .content:
      let first = Set(named)
      return named + found.filter { !first.contains($0) }
    }
  }

  // MARK: Contents

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
