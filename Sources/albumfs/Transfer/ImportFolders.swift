import AlbumModel
import Posix

/// Which album a folder of a source becomes.
enum ImportFolders {
  /// - A camera's `DCIM` and its numbered folders, such as `100CANON`, are no albums: the camera begins a new
  ///   one whenever it likes.
  /// - Of a library of Apple's Photos, only the originals are photos. Their folders are no albums.
  /// - Google Takeout's `Takeout` and the folder of Google Photos in it are no albums.
  /// - `Photo` is its album's, as in an album that was copied with another tool. A `Thumb` beside it is
  ///   skipped. Another `Thumb` becomes an album with a number, because an album has one already.
  static func passage(
    _ name: FileName, in parent: FileName?, _ siblings: Set<FileName>
  ) -> SourceWalk.Passage {
    if let parent, isLibrary(parent) { return originals.contains(name) ? .merged : .leftOut }
    return switch name {
    case dcim, Takeout.top, .photo: .merged
    case .thumb: siblings.contains(.photo) ? .skipped : .folder(NumberedName.of(name, 2))
    default:
      parent == dcim && isCameraFolder(name) || parent == Takeout.top && isGooglePhotos(name)
        || parent == originals[0] && isDigit(name)
        ? .merged : .folder(name)
    }
  }

  /// The folders with the originals, of newer and of older libraries.
  private static let originals = [FileName(literal: "originals"), FileName(literal: "Masters")]

  private static func isLibrary(_ name: FileName) -> Bool { name.text.hasSuffix(".photoslibrary") }

  /// Originals lie in folders `0` to `F`, by the first digit of their names.
  private static func isDigit(_ name: FileName) -> Bool {
    name.bytes.count == 1 && (48...57 ~= name.bytes[0] || 65...70 ~= name.bytes[0])
  }

  /// `Google Photos` in the languages of Google Takeout.
  private static func isGooglePhotos(_ name: FileName) -> Bool {
    let words = ["Photo", "Foto", "Zdj", "Фото", "フォト", "相册", "相簿", "포토"]
    return name.text.contains("Google") && words.contains { name.text.contains($0) }
  }

  private static let dcim = FileName(literal: "DCIM")

  /// A folder of the DCF standard: three digits from 100 on and five letters, digits or underscores.
  private static func isCameraFolder(_ name: FileName) -> Bool {
    let text = name.text
    guard name.bytes.count == 8, let number = Int(text.prefix(3)), number >= 100 else {
      return false
    }
    return text.dropFirst(3).allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
  }
}

/// Makes the albums of an import.
struct ImportAlbums {
  private let top: PlainPath
  private let isDryRun: Bool
  /// Albums by their folders, and the folders that stand for them: a name may be taken by a file.
  private var paths: [[FileName]: PlainPath] = [:]

  /// `top` is the path of the album that the user named.
  init(top: PlainPath, isDryRun: Bool) {
    self.top = top
    self.isDryRun = isDryRun
  }

  /// The path of an album, made with its Photo if it is missing.
  mutating func path(of folders: [FileName]) throws(Errno) -> PlainPath {
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
  func makePhoto(of album: PlainPath) throws(Errno) {
    if !isDryRun { _ = try ImportAlbums.make(album.appending(.photo)) }
  }

  private func makeTop() throws(Errno) {
    if isDryRun { return }
    var missing: [PlainPath] = []
    var path = top
    while (try? PlainEntry(path)) == nil {
      missing.append(path)
      path = path.parent
    }
    for path in missing.reversed() where try !ImportAlbums.make(path) { throw .notDirectory }
  }

  private func directory(_ name: FileName, in parent: PlainPath) throws(Errno) -> PlainPath {
    for number in 1...Int.max {
      let path = parent.appending(NumberedName.of(name, number))
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
  private static func make(_ path: PlainPath) throws(Errno) -> Bool {
    do throws(Errno) { try PlainFiles.makeDirectory(path, permissions: 0o777) } catch {
      if error != .exists { throw error }
      return (try? PlainEntry(path))?.kind == .directory
    }
    return true
  }
}
