import Posix

/// One browser that is logged in to one space, or the terminal. Any thread.
final class Session: Sendable {
  let space: OpenSpace
  /// False for the terminal's, which lasts as long as it is used.
  let hasPage: Bool
  let ids = SessionIds()
  let listings = ListingMemo()
  private struct Times {
    var used = MonotonicTime.now
    var seen = MonotonicTime.now
    var isLocked = false
  }
  private let times = Mutex(Times(), rank: .leaf)
  let jobs = JobTable()
  let uploads = UploadTable()
  let downloads = DownloadTable()
  let duplicates = DuplicateDesk()
  let streams = ReplyStreams()

  /// A page that has not said that it is open for so long is closed.
  private static let pagePatience = TestHooks.delay(.page, .seconds(60))

  init(_ space: OpenSpace, hasPage: Bool = true) {
    self.space = space
    self.hasPage = hasPage
  }

  // MARK: Ids

  func id(_ inode: UInt64) -> String { ids.id(inode) }
  func inode(_ id: some StringProtocol) throws(GalleryError) -> UInt64 { try ids.inode(id) }

  func photo(_ id: some StringProtocol) throws(GalleryError) -> SpaceIndex.Photo {
    let inode = try inode(id)
    if let photo = space.index.photo(inode) { return photo }
    if let album = space.recentUploads.takeAlbum(of: inode) { space.refresh(album) }
    guard let photo = space.index.photo(inode) else { throw GalleryError(.unknown) }
    return photo
  }

  /// The files that belong to photos, each photo first in its group, and each group once. Files that are
  /// about to be deleted are left out.
  func groups(_ ids: [String], isAlone: Bool = false) throws(GalleryError) -> [[UInt64]] {
    let hidden = space.index.hidden
    var seen: Set<UInt64> = []
    var groups: [[UInt64]] = []
    for id in ids {
      let inode = try inode(id)
      if seen.contains(inode) { continue }
      guard let photo = space.index.photo(inode) else { throw GalleryError(.unknown) }
      let group = isAlone ? [inode] : photo.group.filter { !hidden.contains($0) }
      seen.formUnion(group)
      groups.append(group)
    }
    return groups
  }

  func album(_ id: some StringProtocol) throws(GalleryError) -> SpaceIndex.Album {
    guard let album = space.index.album(try inode(id)) else { throw GalleryError(.unknown) }
    return album
  }

  // MARK: Life

  /// - Parameter onPage: false for what a phone sends, which keeps no closed page's session.
  func wasUsed(onPage: Bool = true) {
    times.withLock { times in
      times.used = .now
      if onPage { times.seen = .now }
    }
  }

  func isOpen() { times.withLock { $0.seen = .now } }

  func isDue(idle: Duration) -> Bool {
    times.withLock { times in
      MonotonicTime.now >= times.used + idle
        || (hasPage && MonotonicTime.now >= times.seen + Session.pagePatience)
    }
  }

  var isLocked: Bool { times.withLock { $0.isLocked } }

  /// Ends what the session has begun. What waits to be deleted stays.
  func lock() {
    times.withLock { $0.isLocked = true }
    jobs.cancelAll()
    duplicates.stop()
    streams.closeAll()
  }
}

/// The ids of photos and albums in one session. Each begins so that it means nothing in another session.
struct SessionIds: Sendable {
  private let prefix = RandomText.make(8)

  /// The number of an inode stays through renames and moves, and so does the id.
  func id(_ inode: UInt64) -> String { prefix + String(inode, radix: 36) }

  /// Throws `unknown` for the id of another session and for what is none.
  func inode(_ id: some StringProtocol) throws(GalleryError) -> UInt64 {
    guard id.utf8.count <= 32, id.hasPrefix(prefix),
      let inode = UInt64(id.dropFirst(prefix.count), radix: 36)
    else { throw GalleryError(.unknown) }
    return inode
  }
}
