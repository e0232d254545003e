import AlbumFormat
import AlbumModel

// What damage stepped over, or somebody who had the keys, may leave in a replayed catalog: names that
// are not counted, directories in one another, numbers in use that are not taken. Looking at such a
// catalog is harmless, and `check` tells of it; using it is not: a file would go with the first of
// two names, and the second lead to whatever came to its place. So whoever mounts settles it first.

extension Catalog {
  /// Makes the catalog's invariants hold, and notes what that changes; nothing in a whole space.
  /// Answers how many things were set right.
  ///
  /// 1. The root and every other directory are reached by one name at most, and none by way of
  ///    itself: the first name that is met from the root down counts, others go.
  /// 2. A thumbnail is a file that is there. Where it is not, the photo's is to be made again.
  /// 3. Links are the names and the photos that have it for their thumbnail. What nothing leads to
  ///    keeps its own count: it is for `check` to bring back.
  /// 4. Numbers in use are taken.
  package mutating func settle() -> Int {
    var tree = SettledTree(placeCount: Int(inodes.upperBound))
    placeDirectories(&tree)
    var corrections = tree.surplus.count
    for (directory, entry) in tree.surplus {
      let name = entries.name(of: entry)
      dropEntry(name, in: directory)
      noteEntry(name, in: directory)
    }
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw) else { continue }
      if settleThumbnail(of: index, &tree) { corrections += 1 }
    }
    for raw in 0..<inodes.upperBound {
      guard let index = inodes.occupant(raw) else { continue }
      if settleLinks(of: index, tree) { corrections += 1 }
    }
    if skipNumbers(before: numbersInUse) { corrections += 1 }
    return corrections
  }

  // MARK: Directories

  private mutating func placeDirectories(_ tree: inout SettledTree) {
    if let root = inodes.find(.root) { place(root, &tree) }
    // What the root does not lead to: first what nothing names, then what goes round in circles.
    var named = [Bool](repeating: false, count: Int(inodes.upperBound))
    for raw in 0..<inodes.upperBound where !tree.isPlaced[Int(raw)] {
      guard let index = directoryAt(raw) else { continue }
      for slot in directories[inodes[index].directory].slots where slot.entry != .max {
        named[Int(entries[slot.entry].child)] = true
      }
    }
    for wantsNamed in [false, true] {
      for raw in 0..<inodes.upperBound where named[Int(raw)] == wantsNamed {
        if let index = directoryAt(raw), !tree.isPlaced[Int(raw)] { place(index, &tree) }
      }
    }
  }

  private func directoryAt(_ raw: UInt32) -> InodeIndex? {
    guard let index = inodes.occupant(raw), inodes[index].directory != .max else { return nil }
    return index
  }

  /// Places all that lies below a directory which has no name, or none that counts.
  private mutating func place(_ top: InodeIndex, _ tree: inout SettledTree) {
    guard inodes[top].directory != .max else { return }
    tree.isPlaced[Int(top.rawValue)] = true
    directories[inodes[top].directory].entry = .max
    directories[inodes[top].directory].parent = .root
    var waiting = [top]
    while let directory = waiting.popLast() {
      var subdirectories: UInt32 = 0
      for slot in directories[inodes[directory].directory].slots where slot.entry != .max {
        let child = InodeIndex(rawValue: entries[slot.entry].child)
        let place = Int(child.rawValue)
        if inodes[child].directory == .max {
          tree.links[place] += 1
        } else if tree.isPlaced[place] {
          tree.surplus.append((directory, slot.entry))
        } else {
          tree.isPlaced[place] = true
          subdirectories += 1
          noteParent(of: child, directory, entry: slot.entry)
          waiting.append(child)
        }
      }
      directories[inodes[directory].directory].subdirectories = subdirectories
    }
  }

  // MARK: Files

  private mutating func settleThumbnail(of photo: InodeIndex, _ tree: inout SettledTree) -> Bool {
    let state = inodes[photo].state
    if state.thumbnail.rawValue == 0 { return false }
    if let thumbnail = inodes.find(state.thumbnail), thumbnail != photo,
      inodes[thumbnail].state.kind == .regular, inodes[photo].state.kind == .regular
    {
      tree.links[Int(thumbnail.rawValue)] += 1
      return false
    }
    update(photo) {
      $0.thumbnail = InodeNumber(0)
      if $0.thumbnailState == .made { $0.thumbnailState = .pending }
    }
    return true
  }

  /// A photo refers to a thumbnail that is not there, or that is none.
  mutating func forgetThumbnail(of photo: InodeIndex) {
    let number = inodes[photo].state.thumbnail
    if let thumbnail = inodes.find(number), number.rawValue != 0,
      inodes[thumbnail].state.links > 0
    {
      setThumbnail(nil, of: photo)
    } else {
      inodes[photo].state.thumbnail = InodeNumber(0)
    }
    update(photo) { state in
      if state.thumbnailState == .made { state.thumbnailState = .pending }
    }
  }

  private mutating func settleLinks(of index: InodeIndex, _ tree: SettledTree) -> Bool {
    let links = inodes[index].directory == .max ? tree.links[Int(index.rawValue)] : 1
    if links == 0 || links == inodes[index].state.links { return false }
    update(index) { $0.links = links }
    return true
  }
}

/// The tree as it is found, by places in the arena of inodes.
private struct SettledTree {
  var isPlaced: [Bool]
  /// Of what is no directory: its names and the photos that have it for their thumbnail.
  var links: [UInt32]
  /// Names that lead to a directory which has another.
  var surplus: [(directory: InodeIndex, entry: UInt32)] = []

  init(placeCount: Int) {
    isPlaced = [Bool](repeating: false, count: placeCount)
    links = [UInt32](repeating: 0, count: placeCount)
  }
}
