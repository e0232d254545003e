import Posix

/// The files of one album, by name and by content. Reads contents only where two files have the same size.
struct AlbumContents {
  private struct Known {
    let path: String
    /// A hash of the first bytes; nil until another file has the same size.
    var head: Int?
  }

  /// How much of files of the same size is compared by hash. It holds the EXIF data of a raw picture, all of
  /// which have one size.
  private static let headBytes = 64 << 10

  /// The path of the album's Photo.
  let photo: String
  private var names: Set<String> = []
  private var files: [Int64: [Known]] = [:]

  /// Looks at the files in an album and in its Photo. One that is missing is empty.
  init(album: String) {
    photo = "\(album)/Photo"
    list(album)
    names = []
    list(photo)
  }

  private mutating func list(_ folder: String) {
    for name in (try? PosixDirectory(path: folder).list("").sorted()) ?? [] {
      names.insert(name)
      let path = "\(folder)/\(name)"
      if !name.hasPrefix("."), let entry = try? PlainEntry(path), entry.kind == .file {
        files[entry.size, default: []].append(Known(path: path))
      }
    }
  }

  func isTaken(_ name: String) -> Bool { names.contains(name) }

  /// Notes that a name is taken, by a file of this import or by another program.
  mutating func take(_ name: String) { names.insert(name) }

  /// Adds a file that the album now holds. `path` leads to its content.
  mutating func add(_ path: String, size: Int64) {
    files[size, default: []].append(Known(path: path))
  }

  /// The path of a file of the album with the same content; nil if there is none.
  mutating func twin(
    of path: String, size: Int64, watch: (Int64) -> Bool
  ) throws(PlainCopy.Fault) -> String? {
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

  private static func head(of path: String) throws(Errno) -> Int {
    try PlainFiles.head(of: path, atMost: headBytes).hashValue
  }
}

/// A file that is being copied has a name that shows no program and gets no thumbnail.
enum PartialFile {
  private static let prefix = ".albumfs-partial-"

  /// A process copies one file at a time.
  static func path(in folder: String, process: Int32) -> String { "\(folder)/\(prefix)\(process)" }

  /// Removes what killed processes left in a folder.
  static func clean(_ folder: String, process: Int32) {
    for name in (try? PosixDirectory(path: folder).list("")) ?? [] where name.hasPrefix(prefix) {
      guard let maker = Int32(name.dropFirst(prefix.count)) else { continue }
      if maker == process || ProcessState.name(of: maker).isEmpty {
        try? PathCalls.removeFile("\(folder)/\(name)")
      }
    }
  }
}
