import AlbumModel
import Posix

/// Histories of picture viewers. Bookmarks, shortcuts, collections and albums that the user made there are
/// not touched.
extension TraceSearch {
  mutating func lookAtViewers() {
    lookAtBookmarks(.history, "history.xbel", in: "\(places.config)/gthumb")
    lookAtGeeqie()
    lookAtMirage()
    for name in ["recentfolders", "recenturls", "recentfiles"] {
      lookAtGwenview("\(places.data)/gwenview/\(name)")
    }
  }

  // MARK: Geeqie

  private mutating func lookAtGeeqie() {
    let tree = tree
    editFile(.history, "history", in: "\(places.config)/geeqie") {
      GeeqieLists.history($0) { tree.inside($0) }
    }
    editFile(.history, "marks", in: "\(places.config)/geeqie") {
      GeeqieLists.marks($0) { tree.inside($0) }
    }
    // Both have one file for each picture, in directories with the path of the picture's.
    lookAtCopy(.thumbnail, of: "\(places.cache)/geeqie/thumbnails")
    lookAtCopy(.metadata, of: "\(places.data)/geeqie/metadata")
  }

  /// Looks at the copies of the roots' paths below a directory: everything there is about the tree.
  private mutating func lookAtCopy(_ kind: Trace.Kind, of base: String) {
    for root in tree.roots {
      let parts = root.split(separator: UInt8(ascii: "/")).compactMap { try? FileName(Array($0)) }
      guard let directory = directory(base) else { continue }
      _ = descend(kind, parts[...], directory, base)
    }
  }

  /// Goes down to the copy of a root; removes the directories on the way that are empty afterwards. Returns
  /// true if this directory may be empty now.
  private mutating func descend(
    _ kind: Trace.Kind, _ parts: ArraySlice<FileName>, _ directory: OwnedDirectory, _ path: String
  ) -> Bool {
    guard let name = parts.first else {
      return walk(kind, directory, path, [], depth: 0)
    }
    guard directory.kind(of: name) == .directory,
      let next = self.directory(name, in: directory, at: path)
    else { return false }
    let nextPath = "\(path)/\(name.display)"
    let isDone = descend(kind, parts.dropFirst(), next, nextPath)
    return isDone && isCleaning && (try? directory.removeEmptyDirectory(name)) == true
  }

  private static let depthLimit = 200

  /// Every file at and below a directory is a trace.
  private mutating func walk(
    _ kind: Trace.Kind, _ directory: OwnedDirectory, _ path: String, _ inside: [UInt8], depth: Int
  ) -> Bool {
    if depth == TraceSearch.depthLimit {
      isComplete = false
      return false
    }
    for name in names(in: directory, at: path) {
      let inner = inside.isEmpty ? name.bytes : inside + [UInt8(ascii: "/")] + name.bytes
      let innerPath = "\(path)/\(name.display)"
      if directory.kind(of: name) == .directory {
        guard let next = self.directory(name, in: directory, at: path) else { continue }
        let isDone = walk(kind, next, innerPath, inner, depth: depth + 1)
        if isDone, isCleaning { _ = try? directory.removeEmptyDirectory(name) }
      } else if let file = open(name, in: directory, at: path) {
        add(kind, in: innerPath, about: inner) { () throws(Errno) in
          try directory.remove(name, file)
        }
      }
    }
    return true
  }

  // MARK: mirage

  private mutating func lookAtMirage() {
    let tree = tree
    let directory = "\(places.config)/mirage"
    var chosen: [[UInt8]] = []
    editFile(.history, "miragerc", in: directory) { content in
      guard let found = MirageSettings.withoutHistory(content, inside: { tree.inside($0) }) else {
        return nil
      }
      chosen = found.chosen
      return (found.paths, found.rest)
    }
    for path in chosen {
      add(
        Trace(
          kind: .setting, file: "\(directory)/miragerc", path: path, state: .stays(.setting)))
    }
  }

  // MARK: Gwenview

  private static let entryLimit = 64 << 10

  /// One small file for each entry.
  private mutating func lookAtGwenview(_ path: String) {
    guard let directory = directory(path) else { return }
    for name in names(in: directory, at: path) where name.hasSuffix("rc") {
      let filePath = "\(path)/\(name.display)"
      guard let file = open(name, in: directory, at: path),
        let content = content(file, at: filePath, atMost: TraceSearch.entryLimit),
        let target = SettingsFile.value("url", group: "general", content, home: places.home),
        let inside = tree.inside(uri: target)
      else { continue }
      add(.history, in: filePath, about: inside) { () throws(Errno) in
        try directory.remove(name, file)
      }
    }
  }
}

/// Geeqie's lists of paths, one a line.
enum GeeqieLists {
  /// Lists that the user made.
  private static let kept = ["shortcuts", "bookmarks"]

  /// `"path"` under headings in brackets.
  static func history(_ content: [UInt8], inside: ([UInt8]) -> [UInt8]?) -> (
    paths: [[UInt8]], rest: [UInt8]
  )? {
    var heading = ""
    return lines(content, first: "#History", inside) { line in
      if line.first == UInt8(ascii: "[") {
        heading = String(
          decoding: line.dropFirst().prefix { $0 != UInt8(ascii: "]") }, as: UTF8.self)
      }
      let quote = UInt8(ascii: "\"")
      guard line.first == quote, line.last == quote, line.count > 2, !kept.contains(heading) else {
        return nil
      }
      return Array(line.dropFirst().dropLast())
    }
  }

  /// `path,number`.
  static func marks(_ content: [UInt8], inside: ([UInt8]) -> [UInt8]?) -> (
    paths: [[UInt8]], rest: [UInt8]
  )? {
    lines(content, first: "#Marks", inside) { line in
      guard line.first == UInt8(ascii: "/"), let comma = line.lastIndex(of: UInt8(ascii: ","))
      else { return nil }
      return Array(line[..<comma])
    }
  }

  /// nil if the content does not begin as Geeqie writes it.
  private static func lines(
    _ content: [UInt8], first: String, _ inside: ([UInt8]) -> [UInt8]?,
    _ path: (ArraySlice<UInt8>) -> [UInt8]?
  ) -> (paths: [[UInt8]], rest: [UInt8])? {
    guard content.starts(with: first.utf8) else { return nil }
    var paths: [[UInt8]] = []
    var rest: [UInt8] = []
    for line in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if let found = path(line).flatMap(inside) {
        paths.append(found)
      } else {
        rest += line + [UInt8(ascii: "\n")]
      }
    }
    // The last part has no newline of its own.
    return (paths, Array(rest.dropLast()))
  }
}
