import AlbumModel
import Posix

/// Traces that albumfs finds and does not remove.
extension TraceSearch {
  private static let fileLimit = 16 << 20

  /// Programs' settings that name the last file or directory. A program, or a desktop's daemon, holds them in
  /// memory and writes them back.
  mutating func lookAtSettings() {
    let channels = "\(places.config)/xfce4/xfconf/xfce-perchannel-xml"
    let files = [
      ("\(places.config)/dconf", "user"), (channels, "ristretto.xml"), (channels, "thunar.xml"),
      ("\(places.config)/nomacs", "Image Lounge.conf"),
      ("\(places.config)/lximage-qt", "settings.conf"), (places.config, "QtProject.conf"),
      (places.config, "digikamrc"),
      ("\(places.config)/darktable", "darktablerc"), ("\(places.config)/RawTherapee", "options"),
      ("\(places.config)/session", "dolphin_dolphin_dolphin"),
    ]
    for (directory, name) in files {
      guard let content = content(of: name, in: directory) else { continue }
      for inside in tree.mentions(in: content) {
        add(
          Trace(
            kind: .setting, file: "\(directory)/\(name)", path: inside, state: .stays(.setting)))
      }
    }
  }

  /// Databases in which programs keep names of photos, each with the directory of their thumbnails. Only
  /// their own program knows which thumbnail is whose.
  mutating func lookAtDatabases() {
    let shotwell = "\(places.data)/shotwell/data"
    let databases = [
      (shotwell, "photo.db", "\(places.cache)/shotwell/thumbs"), (shotwell, "photo.db.bak", nil),
      ("\(places.config)/darktable", "library.db", "\(places.cache)/darktable"),
      ("\(places.data)/nautilus/tags", "meta.db", nil),
      ("\(places.data)/nautilus/tags", "meta.db-wal", nil),
    ]
    for (directory, name, thumbnails) in databases {
      guard let content = content(of: name, in: directory), tree.isNamed(in: content) else {
        continue
      }
      let file = "\(directory)/\(name)"
      add(Trace(kind: .database, file: file, path: [], state: .stays(.database)))
      guard let thumbnails, let cache = self.directory(thumbnails),
        !names(in: cache, at: thumbnails).isEmpty
      else { continue }
      add(Trace(kind: .thumbnail, file: thumbnails, path: [], state: .stays(.database)))
    }
  }

  private mutating func content(of file: String, in path: String) -> [UInt8]? {
    guard let directory = directory(path) else { return nil }
    let name = FileName(known: Array(file.utf8))
    guard directory.kind(of: name) != nil, let opened = open(name, in: directory, at: path) else {
      return nil
    }
    return content(opened, at: "\(path)/\(file)", atMost: TraceSearch.fileLimit)
  }

  // MARK: Pictures of unknown origin

  /// eog, its relative eom, and Geeqie write a whole picture there, and leave it if they are killed or cannot
  /// move it to its place.
  private static let temporaryNames = ["eog-save-", "eom-save-", "geeqie_external_preview_"]

  /// Nothing in such a picture says where it comes from.
  mutating func lookAtUnprovenPictures() {
    for path in places.temporary {
      guard let directory = sharedDirectory(path) else { continue }
      lookAtPictures(TraceSearch.temporaryNames, in: directory, path)
    }
    // GIMP and digiKam leave these after a crash.
    for (path, name) in [
      ("\(places.config)/GIMP/2.10/backups", "backup-"), ("\(places.cache)/digikam", "undocache-"),
    ] {
      guard let directory = directory(path) else { continue }
      lookAtPictures([name], in: directory, path)
    }
    // The names are checksums of a path with the file's size.
    for path in ["\(places.cache)/qimgv/thumbnails", "\(places.cache)/RawTherapee/images"] {
      guard let directory = directory(path), !names(in: directory, at: path).isEmpty else {
        continue
      }
      add(Trace(kind: .thumbnail, file: path, path: nil, state: .stays(.unproven)))
    }
  }

  private mutating func lookAtPictures(
    _ beginnings: [String], in directory: OwnedDirectory, _ path: String
  ) {
    for name in names(in: directory, at: path)
    where beginnings.contains(where: { name.bytes.starts(with: $0.utf8) }) {
      guard (try? directory.open(name)) != nil else { continue }
      add(
        Trace(
          kind: .temporaryPicture, file: "\(path)/\(name.display)", path: nil,
          state: .stays(.unproven)))
    }
  }
}

extension TracedTree {
  /// The paths of the tree that a file of unknown format mentions, plainly or in URIs.
  func mentions(in content: [UInt8]) -> [[UInt8]] {
    let scheme = Array("file:///".utf8)
    let boundaries = Set("= ".utf8)
    // A path ends with a quote, a bracket or a control character. Spaces and commas may be part of it.
    let ends = Set("\"'<>".utf8)
    var found: [[UInt8]] = []
    for word in content.split(whereSeparator: { $0 < 0x20 || $0 == 0x7F || ends.contains($0) }) {
      for place in word.indices {
        let rest = word[place...].prefix(TracedTree.pathLimit)
        var inside: [UInt8]?
        if rest.first == UInt8(ascii: "f"), rest.starts(with: scheme) {
          // Qt writes other bytes as \x00. A URI has no backslash.
          inside = self.inside(uri: Array(rest.prefix { $0 != UInt8(ascii: "\\") }))
        } else if rest.first == UInt8(ascii: "/") {
          let isStart =
            place == word.startIndex || boundaries.contains(word[place - 1])
            || TracedTree.followsNumber(place, in: word)
          if isStart { inside = self.inside(TracedTree.withoutEnd(rest)) }
        }
        if let inside, !found.contains(inside) { found.append(inside) }
      }
    }
    return found
  }

  /// darktable writes `1:0:0:/path$`.
  private static func followsNumber(_ place: Int, in word: ArraySlice<UInt8>) -> Bool {
    place >= word.startIndex + 2 && word[place - 1] == UInt8(ascii: ":")
      && 48...57 ~= word[place - 2]
  }

  /// Without what ends a list's entry.
  private static func withoutEnd(_ path: ArraySlice<UInt8>) -> [UInt8] {
    let ends = Set("$;,".utf8)
    let count = path.reversed().prefix { ends.contains($0) }.count
    return Array(path.dropLast(count))
  }

  /// True if a binary file holds the path of a root, or the URI of one, whatever is before it.
  func isNamed(in content: [UInt8]) -> Bool {
    roots.contains { root in
      [root, FileURI.encoded(root)].contains { text in
        content.indices.contains { place in
          guard content[place] == text[0], content[place...].starts(with: text) else {
            return false
          }
          let next = place + text.count < content.count ? content[place + text.count] : 0
          return next == UInt8(ascii: "/") || next < 0x20
        }
      }
    }
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
          path: inside, state: .stays(.trash)))
    }
  }
}
