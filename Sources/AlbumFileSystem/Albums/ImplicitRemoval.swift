import AlbumFormat
import AlbumModel
import AlbumStore

// DESIGN section 5: "rmdir of an album succeeds when nothing of the user's is in it"; for rmdir and
// for renaming over it, what albumfs made does not count.

extension Catalog {
  /// Whether a directory holds nothing of the user's: an empty Photo or Thumb is not, nor are
  /// implicit folders and entries that a newer thumbnail goes before.
  func isFreeOfUser(_ directory: InodeIndex) -> Bool {
    var waiting = [directory]
    while let next = waiting.popLast() {
      guard let folders = foldersIfFreeOfUser(next) else { return false }
      waiting += folders
    }
    return true
  }

  /// The directories in a directory where all that is in it may be albumfs' own; nil where it is not.
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

  /// Removes a directory that is free of the user's with all that is in it.
  mutating func removeTree(_ name: [UInt8], in parent: InodeIndex) {
    if let directory = child(name, of: parent) { emptyTree(directory) }
    removeEntry(name, in: parent)
  }

  /// Removes all that is in a directory that is free of the user's.
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
    // What is in a directory was found after it.
    for entry in found.reversed() { removeEntry(entry.name, in: entry.directory) }
  }
}
