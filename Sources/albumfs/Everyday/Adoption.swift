import ControlProtocol
import Posix

/// Moves plain files from a directory into a mounted space and never loses one: copies all of them, makes
/// the space sync, compares each copy with its original, and only then removes the originals. A step that
/// fails, or an interruption, leaves every original that was not compared. Run it again to continue.
///
/// A name that is taken in the space gets a number: `IMG_1 (2).jpg`. If the file there has the same content,
/// it counts as the copy.
struct Adoption {
  private let source: String
  private let target: String

  /// Files that stay where they were, with the reason. Paths are relative to the directory.
  private(set) var left: [(path: String, reason: String)] = []
  /// Files that got another name in the space.
  private(set) var renamed: [(path: String, name: String)] = []
  /// How many files and links were moved.
  private(set) var moved = 0

  /// Files and links that are in both places.
  private var copies: [(path: String, copy: String)] = []
  /// Directories, each after the one that it lies in.
  private var directories: [String] = []

  /// Both are paths of directories; `target` is in the space.
  init(from source: String, into target: String) {
    self.source = source
    self.target = target
  }

  mutating func run() throws(Failure) {
    copyAll()
    do throws(Errno) { try PlainFiles.synchronize(target) } catch {
      throw Failure(.other, "The space could not be synced (\(error)), so no original was removed.")
    }
    for (path, copy) in copies { remove(path, copy) }
    for directory in directories.reversed() {
      // One that still holds something stays.
      try? PathCalls.removeDirectory("\(source)/\(directory)")
    }
  }

  // MARK: Copying

  private mutating func copyAll() {
    var waiting: [(path: String, copy: String)] = [("", "")]
    while let (path, copy) = waiting.popLast() {
      let names: [String]
      do throws(Errno) {
        names = try PosixDirectory(path: "\(source)/\(path)").list("").sorted()
      } catch {
        left.append((path, "\(error)"))
        continue
      }
      for name in names {
        let (inner, place) = (path.isEmpty ? name : "\(path)/\(name)", "\(target)/\(copy)")
        do throws(Errno) {
          if let found = try self.copy(inner, name, into: place) {
            let whole = copy.isEmpty ? found : "\(copy)/\(found)"
            waiting.append((inner, whole))
          }
        } catch {
          left.append((inner, "\(error)"))
        }
      }
    }
  }

  /// Copies one entry. Returns the name of a directory in the space whose content is to be copied.
  private mutating func copy(_ path: String, _ name: String, into place: String) throws(Errno)
    -> String?
  {
    let original = "\(source)/\(path)"
    let entry = try PlainEntry(original)
    let isDirectory = entry.kind == .directory
    if entry.kind == .other {
      left.append((path, "it is neither a file nor a directory nor a link"))
      return nil
    }
    for number in 1... {
      let found = NumberedName.of(name, number)
      let copy = "\(place)/\(found)"
      if let there = try? PlainEntry(copy) {
        let isSame = try isCopy(original, entry, copy, there)
        if !isSame { continue }
      } else {
        try make(copy, from: original, entry, in: place, name)
      }
      if found != name { renamed.append((path, found)) }
      if isDirectory { directories.append(path) } else { copies.append((path, copy)) }
      return isDirectory ? found : nil
    }
    return nil
  }

  /// True if what is there can stand for the original: the same content, or a directory to put things into.
  private func isCopy(
    _ original: String, _ entry: PlainEntry, _ copy: String, _ there: PlainEntry
  ) throws(Errno) -> Bool {
    guard entry.kind == there.kind else { return false }
    switch entry.kind {
    case .directory: return true
    case .link:
      return PathCalls.target(ofLink: original) == PathCalls.target(ofLink: copy)
    case .file: return try PlainFiles.areEqual(original, copy)
    case .other: return false
    }
  }

  /// A file gets its name when it is complete, so that an interruption leaves no half of one.
  private func make(
    _ copy: String, from original: String, _ entry: PlainEntry, in place: String, _ name: String
  ) throws(Errno) {
    switch entry.kind {
    case .directory: try PlainFiles.makeDirectory(copy, permissions: entry.permissions)
    case .link:
      guard let goal = PathCalls.target(ofLink: original) else { throw .io }
      try PlainFiles.makeLink(to: goal, at: copy)
    case .file:
      // Names take 255 bytes at most.
      let partial = "\(place)/.adopted-\(String(decoding: name.utf8.prefix(200), as: UTF8.self))"
      do throws(Errno) { try PathCalls.removeFile(partial) } catch {
        if error != .noEntry { throw error }
      }
      try PlainFiles.copy(original, to: partial)
      try PlainFiles.rename(partial, to: copy)
    case .other: break
    }
  }

  // MARK: Removing

  private mutating func remove(_ path: String, _ copy: String) {
    let original = "\(source)/\(path)"
    do throws(Errno) {
      // Both are looked at anew: either may have changed since.
      guard try isCopy(original, PlainEntry(original), copy, PlainEntry(copy)) else {
        left.append((path, "its copy differs, so it was changed meanwhile"))
        return
      }
      try PathCalls.removeFile(original)
      moved += 1
    } catch {
      left.append((path, "\(error)"))
    }
  }
}
