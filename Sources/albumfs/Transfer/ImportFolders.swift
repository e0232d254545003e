import Posix

/// Which album a folder of a source becomes.
enum ImportFolders {
  /// - A camera's `DCIM` and its numbered folders, such as `100CANON`, are no albums: the camera begins a new
  ///   one whenever it likes.
  /// - `Photo` is its album's, as in an album that was copied with another tool. A `Thumb` beside it is
  ///   skipped. Another `Thumb` becomes an album with a number, because an album has one already.
  static func passage(
    _ name: String, in parent: String, _ siblings: Set<String>
  ) -> SourceWalk.Passage {
    switch name {
    case "DCIM", "Photo": .merged
    case "Thumb": siblings.contains("Photo") ? .skipped : .folder(NumberedName.of(name, 2))
    default: parent == "DCIM" && isCameraFolder(name) ? .merged : .folder(name)
    }
  }

  /// A folder of the DCF standard: three digits from 100 on and five letters, digits or underscores.
  private static func isCameraFolder(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard bytes.count == 8, let number = Int(String(name.prefix(3))), number >= 100 else {
      return false
    }
    return name.dropFirst(3).allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
  }
}

/// Makes the albums of an import.
struct ImportAlbums {
  private let top: String
  private let isDryRun: Bool
  /// Albums by their folders, and the folders that stand for them: a name may be taken by a file.
  private var paths: [[String]: String] = [:]

  /// `top` is the path of the album that the user named.
  init(top: String, isDryRun: Bool) {
    self.top = top
    self.isDryRun = isDryRun
  }

  /// The path of an album, made with its Photo if it is missing.
  mutating func path(of folders: [String]) throws(Errno) -> String {
    if let known = paths[folders] { return known }
    var path = top
    if let last = folders.last {
      path = try directory(last, in: try self.path(of: folders.dropLast()))
    } else {
      try makeTop()
    }
    paths[folders] = path
    return path
  }

  /// Makes the Photo of an album. A directory whose Photo was removed gets it back.
  func makePhoto(of album: String) throws(Errno) {
    if !isDryRun { _ = try ImportAlbums.make("\(album)/Photo") }
  }

  private func makeTop() throws(Errno) {
    if isDryRun { return }
    var missing: [String] = []
    var path = top[...]
    while (try? PlainEntry(String(path))) == nil, let slash = path.lastIndex(of: "/") {
      missing.append(String(path))
      path = path[..<slash]
    }
    for path in missing.reversed() where try !ImportAlbums.make(path) { throw .notDirectory }
  }

  private func directory(_ name: String, in parent: String) throws(Errno) -> String {
    for number in 1...Int.max {
      let path = "\(parent)/\(NumberedName.of(name, number))"
      if isDryRun {
        let kind = (try? PlainEntry(path))?.kind
        if kind == nil || kind == .directory { return path }
      } else if try ImportAlbums.make(path) {
        return path
      }
    }
    throw .exists
  }

  /// Returns false if something else has the name.
  private static func make(_ path: String) throws(Errno) -> Bool {
    do throws(Errno) { try PlainFiles.makeDirectory(path, permissions: 0o777) } catch {
      if error != .exists { throw error }
      return (try? PlainEntry(path))?.kind == .directory
    }
    return true
  }
}
