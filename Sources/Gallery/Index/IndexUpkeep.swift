import AlbumModel
import Posix

/// Keeps the index of a mounted space in step with the space, whoever changes it. One thread: it learns of
/// calls of programs from the kernel (inotify), and looks at the times of the directories besides, because
/// the daemon's own changes make no calls. It also reads the details of photos, after their listing.
final class IndexUpkeep: Sendable {
  private let mount: MountedSpace
  private let index: SpaceIndex
  private let isStopped = Mutex(false, rank: .leaf)
  /// The photos for which listings wait. The thread reads the details of these before it does anything else,
  /// also before the rest of what it has begun.
  private struct Waits {
    /// The albums of the last listing that waited for some, and the number of its photos: the first ones.
    var wanted: [UInt64] = []
    var count = 0
    /// How many listings wait for such photos now.
    var waiting = 0
    /// Each album for which a listing has waited; nil stands for all albums at once.
    var done: Set<UInt64?> = []
  }
  private let waits = Mutex(Waits(), rank: .leaf)
  /// nil if the system gives none; then only the times of directories show changes.
  private let watch: DirectoryWatch?

  /// The time between two looks at the times of directories.
  private static let sweep = Duration.milliseconds(1500)
  /// Changes that come together are looked at together.
  private static let gathering: UInt32 = 100
  /// Changes within one tick of the kernel's clock leave one time. No tick is as long as this.
  private static let tick = Duration.seconds(1)
  /// How long a page waits for details.
  private static let moment = TestHooks.delay(.details, .milliseconds(300))
  /// How long the thread reads before it shows what it has.
  private static let portion = Duration.milliseconds(100)
  /// No more photos than this get their details meanwhile.
  private static let soon = 5000
  /// How long it reads details before it shows them, and looks for changes again. An album is read whole.
  private static let reading = Duration.milliseconds(400)

  init(_ mount: MountedSpace, _ index: SpaceIndex) {
    self.mount = mount
    self.index = index
    watch = try? DirectoryWatch()
  }

  /// Walks the space once, and then keeps the index on a thread of its own. `whenGone` is called once if the
  /// space is not mounted any more.
  func start(whenGone: @escaping @Sendable () -> Void) throws(Errno) {
    try lookAtEverything()
    try PosixThread(name: "gallery-index") { [self] in run(whenGone) }.detach()
  }

  /// Waits a moment for the details of the first photos of some albums, or of all photos, so that a page
  /// shows them in their shape and order at once. Waits once: to an album that grows, photos come without.
  /// Does not wait for more than can be read meanwhile: a search would be late, and find no more.
  func waitForDetails(of albums: [UInt64]?, first count: Int) {
    if albums == nil, index.undetailedCount > IndexUpkeep.soon { return }
    let isFirst = waits.withLock { waits in
      if let albums { (waits.wanted, waits.count) = (albums, count) }
      let before = waits.done.count
      waits.done.formUnion(albums?.map { Optional($0) } ?? [nil])
      if waits.done.count == before { return false }
      if albums != nil { waits.waiting += 1 }
      return true
    }
    if !isFirst { return }
    let end = MonotonicTime.now + IndexUpkeep.moment
    while MonotonicTime.now < end, !index.isDetailed(albums, first: count) {
      SystemClock.sleep(milliseconds: 5)
    }
    if albums != nil { waits.withLock { $0.waiting -= 1 } }
  }

  func stop() { isStopped.withLock { $0 = true } }

  private func lookAtEverything() throws(Errno) {
    let (root, albums) = try SpaceScan(root: try mount.root()).everything()
    index.replace(root: root, by: albums)
  }

  // MARK: The thread

  /// The state of the thread, which nothing else uses.
  private struct Notes {
    /// The album of each watch; nil stands for the root.
    var albums: [Int32: UInt64] = [:]
    /// The watched directories, and the revision of the list of albums that they are of.
    var watched: Set<[FileName]> = []
    var watchedRevision: UInt64 = 0
    /// The times of directories at the last sweep, and whether no further change can have the same.
    var times: [[FileName]: (time: Timestamp, isOver: Bool)] = [:]
    var nextSweep = MonotonicTime.now
    /// The albums that changed and were not looked at since.
    var due: Set<UInt64> = []
    /// Everything was looked at a moment before.
    let begin = MonotonicTime.now
    /// When to look for thumbnails again in albums that wait for some.
    var looks: [UInt64: (next: MonotonicTime, wait: Duration, revision: UInt64)] = [:]
    /// The revision of each album whose details were read, and that at which nothing was left to read.
    var detailed: [UInt64: UInt64] = [:]
    var detailedRevision: UInt64 = 0
    /// The revision of each album at which no tie was left to read.
    var tied: [UInt64: UInt64] = [:]
    /// True if there are details to read and nothing else to wait for, as at the beginning.
    var isReading = true
  }

  private func run(_ whenGone: () -> Void) {
    var notes = Notes()
    while !isStopped.withLock({ $0 }) {
      do throws(Errno) { try turn(&notes) } catch {
        if !mount.isMounted { return whenGone() }
      }
    }
  }

  private func turn(_ notes: inout Notes) throws(Errno) {
    if readAwaited() {
      notes.isReading = true
      return
    }
    watchAll(&notes)
    var changed: Set<UInt64> = []
    if let watch {
      changed = albums(of: watch.read(waiting: notes.isReading ? 0 : 300), &notes)
      if !changed.isEmpty {
        SystemClock.sleep(milliseconds: IndexUpkeep.gathering)
        changed.formUnion(albums(of: watch.read(waiting: 0), &notes))
      }
    } else if !notes.isReading {
      SystemClock.sleep(milliseconds: 300)
    }
    if MonotonicTime.now >= notes.nextSweep {
      changed.formUnion(try changedByTimes(&notes))
      changed.formUnion(waiting(&notes))
      notes.nextSweep = MonotonicTime.now + IndexUpkeep.sweep
    }
    notes.due.formUnion(changed)
    if notes.due.isEmpty { readDetails(&notes) } else { try lookAtDue(&notes) }
  }

  /// An album that cannot be read is looked at again, and keeps no other from showing.
  private func lookAtDue(_ notes: inout Notes) throws(Errno) {
    notes.isReading = false
    do throws(Errno) {
      try look(at: notes.due)
      notes.due = []
      // The look may have found photos whose details nobody has read.
      notes.isReading = true
    } catch {
      for inode in notes.due where (try? look(at: [inode])) != nil { notes.due.remove(inode) }
      throw error
    }
  }

  /// The root's own number stands for the list of albums in it.
  private func albums(of report: DirectoryWatch.Report, _ notes: inout Notes) -> Set<UInt64> {
    for gone in report.gone { notes.albums[gone] = nil }
    if report.isIncomplete {
      return Set(index.everyAlbum.map(\.found.inode)).union([index.root])
    }
    return Set(report.changed.compactMap { notes.albums[$0] })
  }

  private func watchAll(_ notes: inout Notes) {
    let revision = index.albumsRevision
    guard let watch, notes.watchedRevision != revision, let root = try? mount.root() else { return }
    notes.watchedRevision = revision
    var all: [([FileName], UInt64, Timestamp?)] = index.everyAlbum.map {
      ($0.found.path, $0.found.inode, $0.found.latest)
    }
    all.append(([], index.root, nil))
    let known = Set(all.map(\.0))
    notes.watched.formIntersection(known)
    for (path, inode, read) in all where !notes.watched.contains(path) {
      notes.watched.insert(path)
      let folders = path.isEmpty ? [path] : [path, path + [.photo], path + [.thumb]]
      var latest: Timestamp?
      for folder in folders {
        guard let opened = try? Folder(folder, below: root),
          let number = try? watch.add(opened.path)
        else { continue }
        notes.albums[number] = inode
        latest = [latest, try? opened.status().modified].compactMap { $0 }.max()
      }
      // It may have changed after it was read and before it was watched.
      if latest != read || !IndexUpkeep.isOver(latest) { notes.due.insert(inode) }
    }
  }

  /// False if a change that comes now can leave the same time.
  private static func isOver(_ time: Timestamp?) -> Bool {
    guard let time else { return true }
    let now = SystemClock.fileTime()
    return time < now - tick || time > now
  }

  /// The albums in which thumbnails may have appeared that the daemon did not announce, because nobody
  /// watched yet. It looks the more rarely the longer none comes.
  private func waiting(_ notes: inout Notes) -> Set<UInt64> {
    let now = MonotonicTime.now
    var due: Set<UInt64> = []
    for album in index.everyAlbum where album.found.content.isWaiting {
      let inode = album.found.inode
      let first = max(now, notes.begin + IndexUpkeep.sweep)
      var look = notes.looks[inode] ?? (first, IndexUpkeep.sweep, album.changed)
      if look.revision != album.changed { look = (now, IndexUpkeep.sweep, album.changed) }
      if now >= look.next {
        due.insert(inode)
        look.next = now + look.wait
        look.wait = min(look.wait * 2, .seconds(30))
      }
      notes.looks[inode] = look
    }
    return due
  }

  /// The albums whose directories have another time than at the last sweep.
  private func changedByTimes(_ notes: inout Notes) throws(Errno) -> Set<UInt64> {
    let root = try mount.root()
    var places: [([FileName], UInt64)] = [([], index.root)]
    for album in index.everyAlbum {
      places.append((album.found.path, album.found.inode))
      places.append((album.found.path + [.photo], album.found.inode))
    }
    var changed: Set<UInt64> = []
    var times: [[FileName]: (time: Timestamp, isOver: Bool)] = [:]
    for (path, inode) in places {
      guard let folder = try? Folder(path, below: root), let time = try? folder.status().modified
      else { continue }
      times[path] = (time, IndexUpkeep.isOver(time))
      if let before = notes.times[path], before.time != time || !before.isOver {
        changed.insert(inode)
      }
    }
    notes.times = times
    return changed
  }

  /// The changes of some albums: files that were found, and files that are no longer where they were.
  private struct News {
    var found: [FoundAlbum] = []
    var gone: [(inode: UInt64, path: [FileName])] = []
  }

  /// Reads albums anew, or the root, and the albums that came into them. All of it shows at once, so that
  /// what was moved from one to the other is never nowhere. Any thread.
  func look(at inodes: Set<UInt64>) throws(Errno) {
    let number = index.beginLook()
    let scan = SpaceScan(root: try mount.root())
    var news = News()
    for inode in inodes { try look(at: inode, scan, &news) }
    index.take(news.found, gone: news.gone, of: number)
  }

  private func look(at inode: UInt64, _ scan: borrowing SpaceScan, _ news: inout News)
    throws(Errno)
  {
    if inode == index.root {
      return try look(for: try SpaceScan.albums(in: scan.root), in: nil, [], scan, &news)
    }
    guard let album = index.album(evenHidden: inode) else { return }
    do throws(Errno) {
      let read = try scan.album(album.found.path, parent: album.found.parent)
      if read.album.inode != inode { throw .noEntry }
      news.found.append(read.album)
      try look(for: read.albums, in: inode, album.found.path, scan, &news)
    } catch {
      if !SpaceScan.isGone(error) { throw error }
      news.gone.append((inode, album.found.path))
    }
  }

  /// Finds the albums that came into another one, or into the root, and those that left it.
  private func look(
    for children: [Folder.Name], in parent: UInt64?, _ path: [FileName],
    _ scan: borrowing SpaceScan, _ news: inout News
  ) throws(Errno) {
    for child in children
    where index.album(evenHidden: child.inode)?.found.path != path + [child.name] {
      try scan.add(to: &news.found, path + [child.name], parent)
    }
    let names = Set(children.map(\.name))
    for album in index.children(of: parent) where !names.contains(album.name) {
      news.gone.append((album.found.inode, album.found.path))
    }
  }

  // MARK: Details

  /// Reads the details of the photos that a listing waits for, as many as it can within a moment, so that
  /// the listing shows them although others are missing. Returns false if there is nothing to read.
  private func readAwaited() -> Bool {
    let end = MonotonicTime.now + IndexUpkeep.portion
    let isOver = { MonotonicTime.now >= end || self.isStopped.withLock { $0 } }
    let (wanted, count) = waits.withLock { $0.waiting > 0 ? ($0.wanted, $0.count) : ([], 0) }
    var rest = count
    var news: [SpaceIndex.Detailed] = []
    for album in wanted.lazy.compactMap({ self.index.album(evenHidden: $0) }) {
      if rest == 0 || isOver() { break }
      let content = album.found.content
      if !content.isDetailed(first: rest) {
        guard let root = try? mount.root() else { return false }
        let read = PhotoDetailsReader(root, album).read(first: rest, isStopped: isOver)
        if read.count > 0 {
          news.append(.init(album: album.found.inode, before: content, after: read.content))
        }
      }
      rest -= min(rest, content.count)
    }
    index.take(news)
    return !news.isEmpty
  }

  /// True if something else goes before what nobody waits for.
  private var hasBetter: Bool {
    isStopped.withLock { $0 } || waits.withLock { $0.waiting > 0 }
  }

  /// Reads the details of albums that have not had them yet, for a while. Then they show.
  private func readDetails(_ notes: inout Notes) {
    notes.isReading = false
    let revision = index.revision
    if notes.detailedRevision == revision { return }
    let end = MonotonicTime.now + IndexUpkeep.reading
    var news: [SpaceIndex.Detailed] = []
    var whole: Set<UInt64> = []
    for album in index.everyAlbum(first: waits.withLock(\.wanted))
    where notes.detailed[album.found.inode] != album.changed {
      if MonotonicTime.now >= end || hasBetter {
        notes.isReading = true
        break
      }
      guard let root = try? mount.root() else { return }
      let read = PhotoDetailsReader(root, album).read { self.hasBetter }
      news.append(
        .init(album: album.found.inode, before: album.found.content, after: read.content))
      if read.isWhole { whole.insert(album.found.inode) }
    }
    if news.isEmpty {
      if !notes.isReading, !readTies(&notes) { notes.detailedRevision = revision }
      return
    }
    index.take(news)
    for each in news where whole.contains(each.album) {
      guard let album = index.album(evenHidden: each.album) else { continue }
      // An album that changed meanwhile is read again.
      let content = album.found.content
      if content === each.after || content === each.before {
        notes.detailed[each.album] = album.changed
      }
    }
  }

  /// Reads what ties films to photos, for a while. Returns false if nothing is left to read.
  private func readTies(_ notes: inout Notes) -> Bool {
    let end = MonotonicTime.now + IndexUpkeep.reading
    for album in index.everyAlbum where notes.tied[album.found.inode] != album.changed {
      guard let root = try? mount.root() else { return false }
      let isOver = { MonotonicTime.now >= end || self.hasBetter }
      guard let new = PhotoDetailsReader(root, album).readTies(isOver: isOver) else {
        notes.tied[album.found.inode] = album.changed
        continue
      }
      index.take([.init(album: album.found.inode, before: album.found.content, after: new)])
      notes.isReading = true
      return true
    }
    return false
  }
}
