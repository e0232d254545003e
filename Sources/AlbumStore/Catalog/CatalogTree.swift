import AlbumFormat
import AlbumModel

/// The connections between the inodes of a catalog: the one walk that decides which inodes are reached and
/// which names count.
///
/// 1. The root and every other directory are reached by one name at most, and none by way of itself: the
///    first name that is met from the root down counts.
/// 2. For inodes that the root does not reach, the walk begins anew: first with those that no name leads to,
///    then with one directory of each circle.
/// 3. What is no directory is used by each name in these directories, and by each photo that has it for its
///    thumbnail.
struct CatalogTree {
  struct Name {
    var directory: InodeIndex
    var entry: UInt32
    var child: InodeIndex
  }

  /// The names of directories that count, a directory's own before those in it.
  private(set) var names: [Name] = []
  /// Names that lead to a directory which has another.
  private(set) var surplus: [Name] = []
  /// The directories that no name leads to, the root first.
  private(set) var tops: [InodeIndex] = []
  /// By places in the arena of inodes.
  private var uses: [UInt32]
  private var isPlaced: [Bool]

  init(_ catalog: borrowing Catalog) {
    uses = [UInt32](repeating: 0, count: Int(catalog.inodes.upperBound))
    isPlaced = [Bool](repeating: false, count: uses.count)
    if let root = catalog.index(of: .root) { place(root, catalog) }
    placeUnreached(catalog)
    for raw in 0..<catalog.inodes.upperBound {
      guard let photo = catalog.inodes.occupant(raw) else { continue }
      if let thumbnail = catalog.validThumbnail(of: photo) { uses[Int(thumbnail.rawValue)] += 1 }
    }
  }

  private mutating func placeUnreached(_ catalog: borrowing Catalog) {
    var named = [Bool](repeating: false, count: uses.count)
    for raw in catalog.inodes.places where !isPlaced[Int(raw)] {
      guard let index = catalog.listedDirectory(at: raw) else { continue }
      for slot in catalog.slots(of: index) { named[Int(catalog.entries[slot.entry].child)] = true }
    }
    for wantsNamed in [false, true] {
      for raw in catalog.inodes.places where named[Int(raw)] == wantsNamed && !isPlaced[Int(raw)] {
        if let index = catalog.listedDirectory(at: raw) { place(index, catalog) }
      }
    }
  }

  /// Places a directory which has no name, or none that counts, and all that lies below it.
  private mutating func place(_ top: InodeIndex, _ catalog: borrowing Catalog) {
    guard catalog.listedDirectory(at: top.rawValue) != nil else { return }
    isPlaced[Int(top.rawValue)] = true
    tops.append(top)
    var waiting = [top]
    while let directory = waiting.popLast() {
      for slot in catalog.slots(of: directory) {
        let child = InodeIndex(rawValue: catalog.entries[slot.entry].child)
        let name = Name(directory: directory, entry: slot.entry, child: child)
        if catalog.inodes[child].directory == .max {
          uses[Int(child.rawValue)] += 1
        } else if isPlaced[Int(child.rawValue)] {
          surplus.append(name)
        } else {
          isPlaced[Int(child.rawValue)] = true
          names.append(name)
          waiting.append(child)
        }
      }
    }
  }

  /// Returns the number of links that an inode should have; 0 if nothing leads to it.
  func links(of index: InodeIndex, in catalog: borrowing Catalog) -> UInt32 {
    catalog.inodes[index].directory == .max ? uses[Int(index.rawValue)] : 1
  }
}

extension InodeTable {
  /// The places that may hold inodes, see `occupant`.
  var places: Range<UInt32> { 0..<upperBound }
}

extension Catalog {
  /// The directory at a place of the arena; nil also of one that nothing states.
  fileprivate func listedDirectory(at raw: UInt32) -> InodeIndex? {
    guard let index = inodes.occupant(raw), inodes[index].directory != .max,
      !inodes[index].isExpected
    else { return nil }
    return index
  }

  fileprivate func slots(of directory: InodeIndex) -> [DirectoryListing.Slot] {
    var found: [DirectoryListing.Slot] = []
    directories[inodes[directory].directory].forEach { slot in
      found.append(slot)
      return true
    }
    return found
  }

  /// The thumbnail that a photo refers to: another file, which albumfs made and which is there; nil where it
  /// refers to none, or to what is none.
  func validThumbnail(of photo: InodeIndex) -> InodeIndex? {
    let state = inodes[photo].state
    guard state.thumbnail.rawValue != 0, state.kind == .regular, !inodes[photo].isExpected,
      let thumbnail = inodes.find(state.thumbnail), thumbnail != photo
    else { return nil }
    let made = inodes[thumbnail]
    let isThere = !made.isExpected && made.state.links > 0
    return isThere && made.state.kind == .regular && made.state.marks.contains(.madeThumbnail)
      ? thumbnail : nil
  }

  /// False where a photo refers to a thumbnail that is none, or should have one and refers to none.
  func hasConsistentThumbnail(_ photo: InodeIndex) -> Bool {
    let state = inodes[photo].state
    if state.thumbnail.rawValue == 0 { return state.thumbnailState != .made }
    return validThumbnail(of: photo) != nil
  }

  /// Takes its thumbnail from a photo, to be made again. One that is valid and that nothing else refers to
  /// goes with it; the links of what is none are corrected by who finds it.
  package mutating func forgetThumbnail(of photo: InodeIndex) {
    if validThumbnail(of: photo) != nil {
      setThumbnail(nil, of: photo)
    } else {
      inodes[photo].state.thumbnail = InodeNumber(0)
    }
    update(photo) { state in
      if state.thumbnailState == .made { state.thumbnailState = .pending }
    }
  }
}
