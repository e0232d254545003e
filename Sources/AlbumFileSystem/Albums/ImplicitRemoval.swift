import AlbumFormat
import AlbumModel
import AlbumStore

// rmdir of an album succeeds if nothing of the user's is in it. For rmdir, and for renaming over it, entries
// that albumfs made do not count.

extension Catalog {
  /// True if a directory holds nothing of the user's. Empty Photo and Thumb, implicit folders, and entries
  /// that a newer thumbnail supersedes do not count.
  func isFreeOfUser(_ directory: InodeIndex) -> Bool {
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard let folders = foldersIfFreeOfUser(next) else { return false }
      waiting += folders
    }
    return true
  }

  /// The subdirectories of a directory if all of its entries may be albumfs' own; nil otherwise.
  private func foldersIfFreeOfUser(_ directory: InodeIndex) -> [InodeIndex]? {
    var folders: [InodeIndex] = []
    var isFree = true
    forEachEntry(of: directory) { name, child, _ in
      let state = state(child)
      if state.isDirectory {
        isFree = state.isAlbumPart || state.marks.contains(.implicit)
        folders.append(child)
      } else {
        // Not `map`: the compiler (6.3.1) crashes on a method of a noncopyable type as a value.
        guard let photo = photo(shownAs: name, in: directory) else {
          isFree = false
          return false
        }
        isFree = supersedesEntry(photo)
      }
      return isFree
    }
    return isFree ? folders : nil
  }

  /// Removes a directory without entries of the user's, with everything in it.
  mutating func removeTree(_ name: [UInt8], in parent: InodeIndex) {
    if let directory = child(name, of: parent) { emptyTree(directory) }
    removeEntry(name, in: parent)
  }

  /// Removes everything in a directory without entries of the user's.
  mutating func emptyTree(_ directory: InodeIndex) {
    var found: [(name: [UInt8], directory: InodeIndex)] = []
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard state(next).isDirectory else { continue }
      forEachEntry(of: next) { name, child, _ in
        found.append((name, next))
        waiting.append(child)
        return true
      }
    }
    // Each directory was found before its entries, so this order removes the entries first.
    for entry in found.reversed() { removeEntry(entry.name, in: entry.directory) }
  }
}
