import AlbumModel
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
  }

  /// A file of the album that another one equals.
  struct Twin {
    let path: PlainPath
    let place: PlainPath
    /// True if it has the other's name, or that name with a number.
    let hasName: Bool
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
  mutating func add(_ path: PlainPath, at place: PlainPath, size: Int64) {
    files[size, default: []].append(Known(path: path, place: place, isMatched: true))
  }

  /// The file of the album that is the same one; nil if there is none. `FileIdentity` says what makes two
  /// files the same.
  mutating func twin(
    of path: PlainPath, name: FileName, size: Int64, watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> Twin? {
    guard var known = files[size] else { return nil }
    let bytes: [UInt8]
    do throws(Errno) { bytes = try AlbumContents.head(of: path) } catch { throw .source(error) }
    let head = bytes.hashValue
    defer { files[size] = known }
    for index in candidates(known, FileIdentity(name, size: size, start: bytes), name) {
      let candidate = known[index]
      guard
        let other = candidate.head ?? (try? AlbumContents.head(of: candidate.path))?.hashValue
      else { continue }
      known[index].head = other
      if other != head { continue }
      do throws(PlainCopy.Fault) {
        if try PlainCopy.isEqual(path, candidate.path, watch: watch) {
          known[index].isMatched = true
          return twin(candidate, name)
        }
      } catch {
        // A file of the album that cannot be read is no copy.
        if case .target = error { continue }
        throw error
      }
    }
    return nil
  }

  /// A file of the album with the size and the checksum of a file in a zip file. For a dry run, which unpacks
  /// nothing; content decides otherwise.
  mutating func likelyTwin(of member: ZipDirectory.Member, name: FileName) -> Twin? {
    guard let known = files[member.size] else { return nil }
    let identity = FileIdentity(name, size: member.size, start: [])
    let found = candidates(known, identity, name).first { index in
      AlbumContents.checksum(of: known[index].path) == member.checksum
    }
    guard let found else { return nil }
    files[member.size]?[found].isMatched = true
    return twin(known[found], name)
  }

  private func twin(_ known: Known, _ name: FileName) -> Twin {
    Twin(path: known.path, place: known.place, hasName: AlbumContents.has(known, name))
  }

  private static func has(_ known: Known, _ name: FileName) -> Bool {
    known.place.name.map { NumberedName.isForm($0, of: name) } ?? false
  }

  /// Those of the name come first. A file that its name identifies stands for one other only: two sidecars of
  /// one name, from two folders, are two.
  private func candidates(
    _ known: [Known], _ identity: FileIdentity, _ name: FileName
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

  private static func head(of path: PlainPath) throws(Errno) -> [UInt8] {
    try PlainFiles.head(of: path, atMost: headBytes)
  }
}

/// A file that is being copied has a name that shows no program and gets no thumbnail.
enum PartialFile {
  private static let prefix = ".albumfs-partial-"

  /// A process copies one file at a time.
  static func path(in folder: PlainPath, process: Int32) -> PlainPath {
    folder.appending(FileName(known: Array("\(prefix)\(process)".utf8)))
  }

  /// Removes what killed processes left in a folder.
  static func clean(_ folder: PlainPath, process: Int32) {
    for name in (try? folder.names()) ?? [] where name.bytes.starts(with: prefix.utf8) {
      guard let maker = Int32(name.text.dropFirst(prefix.count)) else { continue }
      let isGone = ProcessState.name(of: maker).isEmpty || ProcessState.isZombie(maker)
      if maker == process || isGone {
        try? PathCalls.removeFile(folder.appending(name))
      }
    }
  }
}
