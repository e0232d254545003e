import AlbumModel
import Posix

/// Traces that albumfs finds and does not remove.
extension TraceSearch {
  private static let settingsLimit = 16 << 20

  /// Programs' settings that name the last file or directory. Each desktop keeps them in one database, which
  /// its own daemon holds in memory and writes back.
  mutating func lookAtSettings() {
    let channels = "\(places.config)/xfce4/xfconf/xfce-perchannel-xml"
    let files = [
      ("\(places.config)/dconf", "user"), (channels, "ristretto.xml"), (channels, "thunar.xml"),
      ("\(places.config)/nomacs", "Image Lounge.conf"),
    ]
    for (path, file) in files {
      guard let directory = directory(path) else { continue }
      let name = FileName(known: Array(file.utf8))
      guard directory.kind(of: name) != nil, let opened = open(name, in: directory, at: path),
        let content = content(
          opened, at: "\(path)/\(file)", atMost: TraceSearch.settingsLimit)
      else { continue }
      for inside in tree.mentions(in: content) {
        add(
          Trace(
            kind: .setting, file: "\(path)/\(file)", path: inside,
            state: isCleaning ? .stays(.setting) : .found))
      }
    }
  }

  /// eog, its relative eom, and Geeqie write a whole picture there, and leave it if they are killed or cannot
  /// move it to its place.
  private static let temporaryNames = ["eog-save-", "eom-save-", "geeqie_external_preview_"]

  /// Nothing in such a picture says where it comes from.
  mutating func lookAtTemporaryPictures() {
    for path in places.temporary {
      guard let directory = sharedDirectory(path) else { continue }
      for name in names(in: directory, at: path)
      where TraceSearch.temporaryNames.contains(where: { name.bytes.starts(with: $0.utf8) }) {
        guard (try? directory.open(name)) != nil else { continue }
        add(
          Trace(
            kind: .temporaryPicture, file: "\(path)/\(name.display)", path: nil,
            state: .stays(.unproven)))
      }
    }
  }
}

extension TracedTree {
  /// The paths of the tree that a file of unknown format mentions, plainly or in URIs.
  func mentions(in content: [UInt8]) -> [[UInt8]] {
    let scheme = Array("file:".utf8)
    let boundaries = Set("= ".utf8)
    // A path ends with a quote, a bracket or a control character. Spaces and commas may be part of it.
    let ends = Set("\"'<>".utf8)
    var found: [[UInt8]] = []
    for word in content.split(whereSeparator: { $0 < 0x20 || $0 == 0x7F || ends.contains($0) }) {
      for place in word.indices {
        let isStart = place == word.startIndex || boundaries.contains(word[place - 1])
        guard isStart else { continue }
        let rest = word[place...].prefix(TracedTree.pathLimit)
        var inside: [UInt8]?
        if rest.first == UInt8(ascii: "/") {
          inside = self.inside(Array(rest))
        } else if rest.starts(with: scheme) {
          inside = self.inside(uri: Array(rest))
        }
        if let inside, !found.contains(inside) { found.append(inside) }
      }
    }
    return found
  }

  /// PATH_MAX.
  private static let pathLimit = 4096
}

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
