import AlbumFormat
import AlbumModel
import AlbumStore

// rmdir of an album succeeds if nothing of the user's is in it. For rmdir, and for renaming over it, entries
// that albumfs made do not count.

/// Removing directories in which albumfs has put something.
enum AlbumRemoval {
  /// True if a directory holds nothing of the user's. Empty Photo and Thumb, implicit folders, and entries
  /// that a newer thumbnail supersedes do not count.
  static func isFreeOfUser(_ directory: InodeIndex, _ catalog: borrowing Catalog) -> Bool {
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard let folders = foldersIfFreeOfUser(next, catalog) else { return false }
      waiting += folders
    }
    return true
  }

  /// The subdirectories of a directory if all of its entries may be albumfs' own; nil otherwise.
  private static func foldersIfFreeOfUser(_ directory: InodeIndex, _ catalog: borrowing Catalog)
    -> [InodeIndex]?
  {
    var folders: [InodeIndex] = []
    var isFree = true
    catalog.forEachEntry(of: directory) { name, child, _ in
      let state = catalog.state(child)
      if state.isDirectory {
        isFree = state.isAlbumPart || state.marks.contains(.implicit)
        folders.append(child)
      } else {
        // Not `map`: the compiler (6.3.1) crashes on a method of a noncopyable type as a value.
        guard let photo = ThumbView.photo(shownAs: name, in: directory, catalog) else {
          isFree = false
          return false
        }
        isFree = ThumbView.supersedesEntry(photo, catalog)
      }
      return isFree
    }
    return isFree ? folders : nil
  }

  /// Removes a directory without entries of the user's, with everything in it.
  static func removeTree(_ name: FileName, in parent: InodeIndex, _ catalog: inout Catalog) {
    if let directory = catalog.child(name, of: parent) { emptyTree(directory, &catalog) }
    catalog.removeEntry(name, in: parent)
  }

  /// Removes everything in a directory without entries of the user's.
  static func emptyTree(_ directory: InodeIndex, _ catalog: inout Catalog) {
    var found: [(name: FileName, directory: InodeIndex)] = []
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard catalog.state(next).isDirectory else { continue }
      catalog.forEachEntry(of: next) { name, child, _ in
        found.append((name, next))
        waiting.append(child)
        return true
      }
    }
    // Each directory was found before its entries, so this order removes the entries first.
    for entry in found.reversed() { catalog.removeEntry(entry.name, in: entry.directory) }
  }
}
