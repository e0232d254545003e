import AlbumModel
import Posix

/// The files of one album, by name and by content. Reads contents only where two files have the same size.
struct AlbumContents {
  private struct Known {
    let path: PlainPath
    /// A hash of the first bytes; nil until another file has the same size.
    var head: Int?
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
        files[entry.size, default: []].append(Known(path: path))
      }
    }
  }

  func isTaken(_ name: FileName) -> Bool { names.contains(name) }

  /// Notes that a name is taken, by a file of this import or by another program.
  mutating func take(_ name: FileName) { names.insert(name) }

  /// Adds a file that the album now holds. `path` leads to its content.
  mutating func add(_ path: PlainPath, size: Int64) {
    files[size, default: []].append(Known(path: path))
  }

  /// The path of a file of the album with the same content; nil if there is none.
  mutating func twin(
    of path: PlainPath, size: Int64, watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> PlainPath? {
    guard var known = files[size] else { return nil }
    let head: Int
    do throws(Errno) { head = try AlbumContents.head(of: path) } catch { throw .source(error) }
    defer { files[size] = known }
    for index in known.indices {
      let candidate = known[index]
      guard let other = candidate.head ?? (try? AlbumContents.head(of: candidate.path)) else {
        continue
      }
      known[index].head = other
      if other != head { continue }
      do throws(PlainCopy.Fault) {
        if try PlainCopy.isEqual(path, candidate.path, watch: watch) { return candidate.path }
      } catch {
        // A file of the album that cannot be read is no copy.
        if case .target = error { continue }
        throw error
      }
    }
    return nil
  }

  /// A file of the album with the size and the checksum of a file in a zip file. For a dry run, which unpacks
  /// nothing; content alone decides otherwise.
  func likelyTwin(of member: ZipDirectory.Member) -> PlainPath? {
    files[member.size]?.first { known in
      guard let reader = try? PlainReader(known.path) else { return false }
      var checksum = CRC32()
      var place: Int64 = 0
      while let piece = try? reader.bytes(1 << 20, at: place), !piece.isEmpty {
        checksum.add(piece[...])
        place += Int64(piece.count)
      }
      return checksum.value == member.checksum
    }?.path
  }

  private static func head(of path: PlainPath) throws(Errno) -> Int {
    try PlainFiles.head(of: path, atMost: headBytes).hashValue
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
