import AlbumModel
import Posix

/// The albums and photos of one mounted space in memory. Every change gets a number, the revision, so that a
/// page can ask what changed since it last looked. Any thread.
final class SpaceIndex: Sendable {
  struct Album: Sendable {
    var found: FoundAlbum
    /// The revision in which its photos changed last.
    var changed: UInt64

    var name: FileName { found.path[found.path.count - 1] }
  }

  /// A photo's place: valid for one look.
  struct Photo: Sendable {
    var album: Album
    var row: PhotoRow
    /// The directory that it lies in.
    var folder: [FileName] { album.found.path + (row.isDirect ? [] : [.photo]) }
    /// The photo whose thumbnail shows it.
    var face: Photo {
      let content = album.found.content
      guard let place = content.place(of: row.inode) else { return self }
      let face = content.face(place)
      return face == place ? self : Photo(album: album, row: content.row(face))
    }
    /// All files that belong to it by what the index knows, itself too, the one that leads first.
    var group: [UInt64] {
      let content = album.found.content
      let group = content.place(of: row.inode).flatMap { content.groups.group(of: $0) }
      return group?.members.map { content.inodes[$0.place] } ?? [row.inode]
    }
  }

  private struct State {
    var revision: UInt64 = 1
    var albumsChanged: UInt64 = 1
    var root: UInt64 = 0
    var albums: [UInt64: Album] = [:]
    /// The album of each file.
    var albumOf: [UInt64: UInt64] = [:]
    /// Photos and albums that are about to be deleted.
    var hidden: Set<UInt64> = []
    /// The number of looks at albums that have begun.
    var looks: UInt64 = 0
    /// The look of which each album was taken, or removed, last.
    var lookOf: [UInt64: UInt64] = [:]
  }

  private let state = Mutex(State(), rank: .leaf)

  // MARK: Reading

  var revision: UInt64 { state.withLock { $0.revision } }
  var root: UInt64 { state.withLock { $0.root } }

  /// All albums that are not hidden, a parent before the albums in it, in the order of their names.
  func albums() -> (revision: UInt64, albums: [Album]) {
    state.withLock { state in
      let shown = state.albums.values.filter { !SpaceIndex.isHidden($0, state) }
      let sorted = shown.sorted { a, b in SpaceIndex.precedes(a.found.path, b.found.path) }
      return (state.revision, sorted)
    }
  }

  func album(_ inode: UInt64) -> Album? {
    state.withLock { state in
      state.albums[inode].flatMap { SpaceIndex.isHidden($0, state) ? nil : $0 }
    }
  }

  /// Albums below one, itself too, each after those in it.
  func tree(under inode: UInt64) -> [Album] {
    state.withLock { state in
      guard let top = state.albums[inode]?.found.path else { return [] }
      return state.albums.values.filter { $0.found.path.starts(with: top) }
        .sorted { $0.found.path.count > $1.found.path.count }
    }
  }

  /// nil if there is none, or if it is about to be deleted.
  func photo(_ inode: UInt64) -> Photo? { find(inode, evenHidden: false) }

  /// The same for the job that deletes it.
  func photo(evenHidden inode: UInt64) -> Photo? { find(inode, evenHidden: true) }

  private func find(_ inode: UInt64, evenHidden: Bool) -> Photo? {
    state.withLock { state in
      guard let number = state.albumOf[inode], let album = state.albums[number],
        let place = album.found.content.place(of: inode)
      else { return nil }
      let isHidden = state.hidden.contains(inode) || SpaceIndex.isHidden(album, state)
      return isHidden && !evenHidden
        ? nil : Photo(album: album, row: album.found.content.row(place))
    }
  }

  /// The hidden files of an album's listing.
  var hidden: Set<UInt64> { state.withLock { $0.hidden } }

  /// Returns the changes after a revision.
  func changes(since revision: UInt64) -> (revision: UInt64, albums: Bool, photosIn: [UInt64])? {
    state.withLock { state in
      if state.revision == revision { return nil }
      // A revision of another server's life.
      let all = revision > state.revision
      let changed = state.albums.filter { all || $0.value.changed > revision }.keys.sorted()
      return (state.revision, all || state.albumsChanged > revision, changed)
    }
  }

  private static func isHidden(_ album: Album, _ state: State) -> Bool {
    if state.hidden.isEmpty { return false }
    var next: UInt64? = album.found.inode
    while let inode = next {
      if state.hidden.contains(inode) { return true }
      next = state.albums[inode]?.found.parent
    }
    return false
  }

  private static func precedes(_ a: [FileName], _ b: [FileName]) -> Bool {
    for (left, right) in zip(a, b) where left != right {
      return NaturalOrder.precedes(left.bytes[...], right.bytes[...])
    }
    return a.count < b.count
  }

  // MARK: Changing

  /// Takes what a walk of the whole space found.
  func replace(root: UInt64, by found: [FoundAlbum]) {
    state.withLock { state in
      state.root = root
      let known = Set(found.map(\.inode))
      for inode in state.albums.keys where !known.contains(inode) {
        SpaceIndex.remove(inode, &state)
      }
      for album in found { SpaceIndex.put(album, &state) }
    }
  }

  /// Begins a look at albums, and returns its number for `take`.
  func beginLook() -> UInt64 {
    state.withLock { state in
      state.looks += 1
      return state.looks
    }
  }

  /// Removes albums that are still where they were, with those in them, and takes what was found. Looks of
  /// several threads may end in another order than they began: what a later one saw of an album stays.
  func take(_ found: [FoundAlbum], gone: [(inode: UInt64, path: [FileName])], of look: UInt64) {
    state.withLock { state in
      for (inode, path) in gone where state.albums[inode]?.found.path == path {
        for album in state.albums.values where album.found.path.starts(with: path) {
          let inode = album.found.inode
          if SpaceIndex.mayTake(inode, of: look, &state) { SpaceIndex.remove(inode, &state) }
        }
      }
      for album in found where SpaceIndex.mayTake(album.inode, of: look, &state) {
        SpaceIndex.put(album, &state)
      }
    }
  }

  private static func mayTake(_ inode: UInt64, of look: UInt64, _ state: inout State) -> Bool {
    if state.lookOf[inode] ?? 0 > look { return false }
    state.lookOf[inode] = look
    return true
  }

  /// The content of an album before and after its details were read.
  struct Detailed {
    var album: UInt64
    var before: AlbumContent
    var after: AlbumContent
  }

  /// Gives the photos of albums details, of each unless its content has changed meanwhile. All of it is one
  /// revision: so a page draws itself anew once.
  func take(_ news: [Detailed]) {
    state.withLock { state in
      let revision = state.revision + 1
      for each in news where state.albums[each.album]?.found.content === each.before {
        state.albums[each.album]?.found.content = each.after
        // What nobody sees is no change.
        if each.before.equals(each.after) { continue }
        state.revision = revision
        state.albums[each.album]?.changed = revision
        if each.before.groups != each.after.groups { state.albumsChanged = revision }
      }
    }
  }

  /// Takes photos and albums out of all listings.
  func hide(_ inodes: Set<UInt64>) { setHidden(inodes) { $0.formUnion(inodes) } }

  /// Brings them back.
  func show(_ inodes: Set<UInt64>) { setHidden(inodes) { $0.subtract(inodes) } }

  private func setHidden(_ inodes: Set<UInt64>, _ change: (inout Set<UInt64>) -> Void) {
    state.withLock { state in
      change(&state.hidden)
      state.revision += 1
      state.albumsChanged = state.revision
      for album in Set(
        inodes.compactMap { state.albumOf[$0] ?? (state.albums[$0] == nil ? nil : $0) })
      {
        state.albums[album]?.changed = state.revision
      }
    }
  }

  private static func put(_ album: FoundAlbum, _ state: inout State) {
    var album = album
    let old = state.albums[album.inode]
    if let old { album.content = album.content.withDetails(from: old.found.content) }
    let isSame = old.map { $0.found.content.equals(album.content) } ?? false
    if let old, isSame, old.found.hasEntry(of: album) { return }
    state.revision += 1
    state.albumsChanged = state.revision
    for inode in album.content.inodes { state.albumOf[inode] = album.inode }
    if let old {
      for inode in old.found.content.inodes
      where state.albumOf[inode] == album.inode && album.content.place(of: inode) == nil {
        state.albumOf[inode] = nil
      }
    }
    state.albums[album.inode] = Album(
      found: album, changed: isSame ? old!.changed : state.revision)
  }

  private static func remove(_ inode: UInt64, _ state: inout State) {
    guard let old = state.albums.removeValue(forKey: inode) else { return }
    state.revision += 1
    state.albumsChanged = state.revision
    for file in old.found.content.inodes where state.albumOf[file] == inode {
      state.albumOf[file] = nil
    }
  }
}

extension FoundAlbum {
  /// True if a list of albums shows both alike.
  fileprivate func hasEntry(of other: FoundAlbum) -> Bool {
    parent == other.parent && path == other.path && modified == other.modified
      && cover == other.cover && content.groups == other.content.groups
      && content.kinds == other.content.kinds
  }
}

extension SpaceIndex {
  /// The same for the one who keeps the index.
  func album(evenHidden inode: UInt64) -> Album? { state.withLock { $0.albums[inode] } }

  /// The albums of so many photos, in the order of albums.
  func albums(ofFirst count: Int) -> [UInt64] {
    var (found, rest) = ([UInt64](), count)
    for album in albums().albums where rest > 0 {
      found.append(album.found.inode)
      rest -= album.found.content.count
    }
    return found
  }

  /// True if the details of the first photos in some albums are read; nil stands for all photos.
  func isDetailed(_ albums: [UInt64]?, first count: Int = .max) -> Bool {
    guard let albums else { return everyAlbum.allSatisfy(\.found.content.isDetailed) }
    var rest = count
    for content in albums.lazy.compactMap({ self.album(evenHidden: $0)?.found.content }) {
      if !content.isDetailed(first: rest) { return false }
      rest -= min(rest, content.count)
    }
    return true
  }

  /// The number of photos in albums whose details are not all read.
  var undetailedCount: Int {
    everyAlbum.reduce(0) { $0 + ($1.found.content.isDetailed ? 0 : $1.found.content.count) }
  }

  /// All albums, hidden ones too, in no order.
  var everyAlbum: [Album] { state.withLock { Array($0.albums.values) } }

  /// All albums, hidden ones too: some first, and then the others as "all photos" shows them.
  func everyAlbum(first wanted: [UInt64]) -> [Album] {
    state.withLock { state in
      let first = Set(wanted)
      let others = state.albums.values.filter { !first.contains($0.found.inode) }
      return wanted.compactMap { state.albums[$0] }
        + others.sorted { SpaceIndex.precedes($0.found.path, $1.found.path) }
    }
  }

  /// Rises with each change of the list of albums.
  var albumsRevision: UInt64 { state.withLock { $0.albumsChanged } }

  /// The albums right in another one, or in the root.
  func children(of parent: UInt64?) -> [Album] {
    state.withLock { state in state.albums.values.filter { $0.found.parent == parent } }
  }
}
