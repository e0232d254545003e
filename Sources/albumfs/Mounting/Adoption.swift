import AlbumModel
import ControlProtocol
import Posix

/// Moves plain files from a directory into a mounted space and never loses one: copies all of them, makes
/// the space sync, compares each copy with its original, and only then removes the originals. A step that
/// fails, or an interruption, leaves every original that was not compared. Run it again to continue.
///
/// A name that is taken in the space gets a number: `IMG_1 (2).jpg`. If the file there has the same content,
/// it counts as the copy.
struct Adoption {
  private let source: PlainPath
  private let target: PlainPath

  /// An entry of the directory, by its path there, and its place in the space.
  private struct Pair {
    var path: PlainPath
    var copy: PlainPath
  }

  /// Files that stay where they were, with the reason. Paths are relative to the directory.
  private(set) var left: [(path: String, reason: String)] = []
  /// Files that got another name in the space.
  private(set) var renamed: [(path: String, name: String)] = []
  /// Files and directories whose access control list the space refused.
  private(set) var withoutList: [String] = []
  /// How many files and links were moved.
  private(set) var moved = 0

  /// Files and links that are in both places.
  private var copies: [Pair] = []
  /// Directories, each after the one that it lies in.
  private var directories: [PlainPath] = []
  /// The first copy of each file, for its other hard links.
  private var firstCopies: [PlainEntry.Identity: PlainPath] = [:]

  /// Both are paths of directories; `target` is in the space.
  init(from source: String, into target: String) {
    self.source = PlainPath(source)
    self.target = PlainPath(target)
  }

  mutating func run() throws(Failure) {
    copyAll()
    do throws(Errno) { try PlainFiles.synchronize(target) } catch {
      throw Failure(.other, "The space could not be synced (\(error)), so no original was removed.")
    }
    for pair in copies { remove(pair) }
    for directory in directories.reversed() {
      // One that still holds something stays.
      try? PathCalls.removeDirectory(directory)
    }
  }

  /// The path within the directory, for people.
  private func shown(_ path: PlainPath) -> String {
    path == source ? "." : PlainPath(bytes: Array(path.bytes[(source.bytes.count + 1)...])).text
  }

  private mutating func leave(_ path: PlainPath, _ reason: String) {
    left.append((shown(path), reason))
  }

  // MARK: Copying

  private mutating func copyAll() {
    var waiting = [Pair(path: source, copy: target)]
    while let folder = waiting.popLast() {
      let names: [FileName]
      do throws(Errno) { names = try folder.path.names() } catch {
        leave(folder.path, "\(error)")
        continue
      }
      for name in names {
        let path = folder.path.appending(name)
        do throws(Errno) {
          if let copy = try copy(path, name, into: folder.copy) {
            waiting.append(Pair(path: path, copy: copy))
          }
        } catch {
          leave(path, "\(error)")
        }
      }
    }
  }

  /// Copies one entry. Returns the directory in the space whose content is to be copied.
  private mutating func copy(_ path: PlainPath, _ name: FileName, into place: PlainPath)
    throws(Errno) -> PlainPath?
  {
    let entry = try PlainEntry(path)
    if entry.kind == .other {
      leave(path, "it is neither a file nor a directory nor a link")
      return nil
    }
    for number in 1... {
      let found = NumberedName.of(name, number)
      let pair = Pair(path: path, copy: place.appending(found))
      if let there = try? PlainEntry(pair.copy) {
        if try !isCopy(pair, entry, there) { continue }
      } else {
        try make(pair, entry, in: place, name)
      }
      if found != name { renamed.append((shown(path), found.text)) }
      if entry.kind == .file, firstCopies[entry.file] == nil {
        firstCopies[entry.file] = pair.copy
      }
      if entry.kind == .directory { directories.append(path) } else { copies.append(pair) }
      return entry.kind == .directory ? pair.copy : nil
    }
    return nil
  }

  /// True if what is there can stand for the original: the same content, or a directory to put things into.
  private func isCopy(_ pair: Pair, _ entry: PlainEntry, _ there: PlainEntry) throws(Errno) -> Bool
  {
    guard entry.kind == there.kind else { return false }
    switch entry.kind {
    case .directory: return true
    case .link: return try pair.path.target() == pair.copy.target()
    case .file: return try PlainFiles.areEqual(pair.path, pair.copy)
    case .other: return false
    }
  }

  /// A file gets its name when it is complete, so that an interruption leaves no half of one.
  private mutating func make(
    _ pair: Pair, _ entry: PlainEntry, in place: PlainPath, _ name: FileName
  ) throws(Errno) {
    switch entry.kind {
    case .directory:
      try PlainFiles.makeDirectory(pair.copy, permissions: entry.permissions)
      keepAttributes(pair)
    case .link: try PlainFiles.makeLink(to: try pair.path.target(), at: pair.copy)
    case .file:
      if let first = firstCopies[entry.file], try PlainFiles.areEqual(pair.path, first) {
        return try PlainFiles.addName(pair.copy, of: first)
      }
      // Names take 255 bytes at most.
      let partial = place.appending(
        FileName(known: Array(".adopted-".utf8) + name.bytes.prefix(200)))
      do throws(Errno) { try PathCalls.removeFile(partial) } catch {
        if error != .noEntry { throw error }
      }
      try PlainFiles.copy(pair.path, to: partial)
      try PlainFiles.rename(partial, to: pair.copy)
      keepAttributes(pair)
    case .other: break
    }
  }

  private mutating func keepAttributes(_ pair: Pair) {
    if !PlainFiles.copyAttributes(pair.path, to: pair.copy) { withoutList.append(shown(pair.path)) }
  }

  // MARK: Removing

  private mutating func remove(_ pair: Pair) {
    do throws(Errno) {
      // Both are looked at anew: either may have changed since.
      guard try isCopy(pair, PlainEntry(pair.path), PlainEntry(pair.copy)) else {
        return leave(pair.path, "its copy differs, so it was changed meanwhile")
      }
      try PathCalls.removeFile(pair.path)
      moved += 1
    } catch {
      leave(pair.path, "\(error)")
    }
  }
}
