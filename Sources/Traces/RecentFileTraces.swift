import AlbumModel
import Posix

/// Lists of recently used files: GTK's and KDE's in one file, older KDE's in one small file for each entry.
extension TraceSearch {
  /// Such a list is longer only if an attacker made it to be read for ever.
  static let listLimit = 64 << 20
  private static let entryLimit = 64 << 10

  mutating func lookAtRecentFiles() {
    lookAtBookmarks(.recentFile, "recently-used.xbel", in: places.data)
    lookAtBookmarks(.recentFile, ".recently-used.xbel", in: places.home)
    lookAtRecentDocuments()
  }

  /// Removes bookmarks of the tree from a file in XBEL, and leaves every other byte as it is.
  mutating func lookAtBookmarks(_ kind: Trace.Kind, _ name: String, in path: String) {
    let tree = tree
    editFile(kind, name, in: path) { content in
      guard let list = BookmarkFile(content) else { return nil }
      let ours = list.bookmarks.compactMap { bookmark in
        tree.inside(uri: bookmark.target).map { (bookmark, $0) }
      }
      return (ours.map(\.1), BookmarkFile.removing(ours.map(\.0), from: content))
    }
  }

  /// Looks at one file with entries of many paths. `find` returns the tree's paths in it and the content
  /// without them, or nil if it does not understand the content.
  mutating func editFile(
    _ kind: Trace.Kind, _ name: String, in path: String,
    _ find: ([UInt8]) -> (paths: [[UInt8]], rest: [UInt8])?
  ) {
    guard let directory = directory(path) else { return }
    let name = FileName(known: Array(name.utf8))
    guard directory.kind(of: name) != nil, let file = open(name, in: directory, at: path) else {
      return
    }
    let filePath = "\(path)/\(name.display)"
    guard let content = content(file, at: filePath, atMost: TraceSearch.listLimit) else { return }
    guard let (paths, rest) = find(content) else {
      passOver(filePath, .notUnderstood)
      return
    }
    if paths.isEmpty { return }
    var state = Trace.State.found
    if isCleaning {
      do throws(Errno) {
        try directory.replace(name, file, by: rest)
        state = .removed
      } catch {
        state = .stays(.error(error))
      }
    }
    for inside in paths {
      add(Trace(kind: kind, file: filePath, path: inside, state: state))
    }
  }

  private mutating func lookAtRecentDocuments() {
    let path = "\(places.data)/RecentDocuments"
    guard let directory = directory(path) else { return }
    for name in names(in: directory, at: path) where name.hasSuffix(".desktop") {
      guard let file = open(name, in: directory, at: path),
        let content = content(
          file, at: "\(path)/\(name.display)", atMost: TraceSearch.entryLimit),
        let target = SettingsFile.link(content, home: places.home),
        let inside = tree.inside(uri: target)
      else { continue }
      add(.recentFile, in: "\(path)/\(name.display)", about: inside) { () throws(Errno) in
        try directory.remove(name, file)
      }
    }
  }
}
