import AlbumModel
import Posix

/// Files of the mount in the trash of the home directory (the freedesktop trash specification). KDE's
/// programs move them there, out of the mount and unencrypted; others use a trash in the mount itself.
extension TraceSearch {
  private static let noteLimit = 64 << 10

  /// A file in the trash may be the only copy of a photo, so nobody but its user removes it.
  mutating func lookAtTrash() {
    let trash = "\(places.data)/Trash"
    let notes = "\(trash)/info"
    guard let directory = directory(notes) else { return }
    let suffix = ".trashinfo"
    for name in names(in: directory, at: notes) where name.hasSuffix(suffix) {
      guard let file = open(name, in: directory, at: notes),
        let content = content(
          file, at: "\(notes)/\(name.display)", atMost: TraceSearch.noteLimit),
        let path = SettingsFile.value(
          "Path", group: "Trash Info", content, home: places.home),
        let inside = tree.inside(uri: Array("file://".utf8) + path)
      else { continue }
      add(
        Trace(
          kind: .trashedFile, file: "\(trash)/files/\(name.display.dropLast(suffix.count))",
          path: inside, state: isCleaning ? .stays(.trash) : .found))
    }
  }
}
