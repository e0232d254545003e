import AlbumFormat
package import AlbumModel

/// A name in a directory.
package struct EntryPlace: Hashable, Sendable {
  package var directory: InodeNumber
  package var name: FileName
}

extension Catalog {
  /// The name of a directory; nil for the root and for one without a name.
  package func name(of directory: InodeIndex) -> FileName? {
    // An inode that names were stated in, and that was then stated as a file, has no name here.
    if inodes[directory].directory == .max { return nil }
    let entry = directories[inodes[directory].directory].entry
    return entry == .max ? nil : entries.name(of: entry)
  }

  /// The path of a name from the space's root, for a person; without a leading slash. It begins with the
  /// number of a directory that the root does not lead to.
  package func path(of name: FileName, in directory: InodeIndex) -> String {
    path(of: [name], in: directory)
  }

  /// The path of the last of some names, each but the first in the one before it.
  func path(of names: [FileName], in directory: InodeIndex) -> String {
    var steps = names.reversed().map(\.display)
    var at = directory
    // A circle is damage, and must not be one here.
    while state(at).number != .root, steps.count - names.count < 4096 {
      guard let label = self.name(of: at) else {
        steps.append("(inode \(state(at).number.rawValue))")
        break
      }
      steps.append(label.display)
      guard let parent = index(of: parent(of: at)) else { break }
      at = parent
    }
    return steps.reversed().joined(separator: "/")
  }

  /// The same where only the number of the directory is known, which may be gone.
  package func path(of name: FileName, in directory: InodeNumber) -> String {
    guard let index = index(of: directory) else { return name.display }
    return path(of: name, in: index)
  }

  /// All names of some inodes, with their directories. Looks at every entry of the space.
  package func names(of wanted: Set<InodeNumber>) -> [InodeNumber: [EntryPlace]] {
    var names: [InodeNumber: [EntryPlace]] = [:]
    for raw in 0..<inodes.upperBound {
      guard let directory = inodes.occupant(raw), state(directory).kind == .directory else {
        continue
      }
      forEachEntry(of: directory) { name, child, _ in
        let number = state(child).number
        if wanted.contains(number) {
          let place = EntryPlace(directory: state(directory).number, name: name)
          names[number, default: []].append(place)
        }
        return true
      }
    }
    return names
  }

  /// The names from a directory down to one below it; empty if they are the same.
  package func names(from top: InodeIndex, to directory: InodeIndex) -> [FileName] {
    var names: [FileName] = []
    var at = directory
    while at != top {
      guard let name = name(of: at), let parent = index(of: parent(of: at)) else { return names }
      names.append(name)
      at = parent
    }
    return names.reversed()
  }

  /// Copies out the subdirectories of a directory.
  package func subdirectories(of directory: InodeIndex) -> [(name: FileName, index: InodeIndex)] {
    var result: [(name: FileName, index: InodeIndex)] = []
    if subdirectoryCount(of: directory) == 0 { return result }
    forEachEntry(of: directory) { name, child, _ in
      if state(child).kind == .directory { result.append((name, child)) }
      return true
    }
    return result
  }

  /// True where a directory is the other or lies somewhere below it.
  package func isBelow(_ directory: InodeIndex, _ top: InodeIndex) -> Bool {
    var at = directory
    while at != top {
      if state(at).number == .root { return false }
      guard let parent = index(of: parent(of: at)), parent != at else { return false }
      at = parent
    }
    return true
  }

  /// The cookie of the newest entry that the directory ever had; 0 if it had none.
  package func lastCookie(of directory: InodeIndex) -> UInt32 {
    directories[inodes[directory].directory].lastCookie
  }

  /// Makes an existing name lead to another inode. If that is a directory, it has lost its own name before.
  /// The entry keeps its place, so that a concurrent listing sees the name.
  package mutating func replaceEntry(
    _ name: FileName, in directory: InodeIndex, child: InodeIndex
  ) {
    guard let entry = entries.find(name, in: directory.rawValue) else { return }
    let former = InodeIndex(rawValue: entries[entry].child)
    keepPastName(name, in: directory, before: child)
    entries.setChild(entry, to: child.rawValue)
    let listing = inodes[directory].directory
    if inodes[former].state.kind == .directory {
      directories[listing].subdirectories -= 1
      directories[inodes[former].directory].entry = .max
      inodes[former].state.links = 1
    }
    keepHolder(former, name, in: directory)
    if inodes[child].state.kind == .directory {
      directories[listing].subdirectories += 1
      setParent(of: child, directory, entry: entry)
      inodes[child].state.links = 1
    } else {
      inodes[child].state.links += 1
    }
    markDirty(child, .state)
    enqueueEntry(name, in: directory)
    dropFormer(of: child)
    dropLink(former)
  }

  /// Exchanges two existing names.
  package mutating func exchangeEntries(
    _ name: FileName, in directory: InodeIndex, with other: FileName, in otherDirectory: InodeIndex
  ) {
    guard let first = entries.find(name, in: directory.rawValue),
      let second = entries.find(other, in: otherDirectory.rawValue)
    else { return }
    let child = InodeIndex(rawValue: entries[first].child)
    let otherChild = InodeIndex(rawValue: entries[second].child)
    keepPastName(name, in: directory, before: otherChild)
    keepPastName(other, in: otherDirectory, before: child)
    entries.setChild(first, to: otherChild.rawValue)
    entries.setChild(second, to: child.rawValue)
    moveSubdirectory(otherChild, from: otherDirectory, in: directory, entry: first)
    moveSubdirectory(child, from: directory, in: otherDirectory, entry: second)
    enqueueEntry(name, in: directory)
    enqueueEntry(other, in: otherDirectory)
  }

  private mutating func moveSubdirectory(
    _ child: InodeIndex, from: InodeIndex, in directory: InodeIndex, entry: UInt32
  ) {
    guard inodes[child].state.kind == .directory else { return }
    directories[inodes[from].directory].subdirectories -= 1
    directories[inodes[directory].directory].subdirectories += 1
    setParent(of: child, directory, entry: entry)
  }

  mutating func setParent(of child: InodeIndex, _ directory: InodeIndex, entry: UInt32?) {
    memo.forget(inodes[child].state.number, andBelow: entryCount(of: child) > 0)
    directories[inodes[child].directory].parent = inodes[directory].state.number
    directories[inodes[child].directory].entry = entry ?? .max
  }
}
