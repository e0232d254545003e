import AlbumFormat
import Logging
import Posix

// A space that was opened for reading follows the session that writes it, on this machine or another one: it
// shows what that has on disk, a few seconds later. It reads the journal anew when it has grown, and puts the
// new catalog in the place of the old one. Whoever knows an inode knows it by its number, which stays.

/// Keeps a space at what a writer has on disk. Only its thread calls it.
final class Follower: SpacePart, Sendable {
  let context: SpaceContext
  private let fence: Mutex<Fence>
  private let hasFailed = Mutex(false, rank: .leaf)

  /// The time between two looks. On a local disk, reading a long journal takes a third of the time at most;
  /// on a network it mostly waits.
  private static let interval = TestHooks.delay(.following, .seconds(5))
  private static let restAfterReading = 2

  init(_ context: SpaceContext, from fence: Fence) {
    self.context = context
    self.fence = Mutex(fence, rank: .leaf)
  }

  /// One look; returns the time of the next.
  func round() -> MonotonicTime {
    let begun = MonotonicTime.now
    do throws(StoreError) {
      if try fence.withLock({ $0 }).hasMoved() { try readAnew() }
      hasFailed.withLock { $0 = false }
    } catch {
      // The writer may have removed what was listed, or the network is away. The next look tells.
      let isFirst = hasFailed.withLock { failed in
        defer { failed = true }
        return !failed
      }
      if isFirst { options.logger.warning("cannot follow the writer for now: \(error)") }
    }
    let now = MonotonicTime.now
    let rest = files.directory.kind.isLocal ? (now - begun) * Follower.restAfterReading : .zero
    return now + max(Follower.interval, rest)
  }

  private func readAnew() throws(StoreError) {
    let listing = try files.listAnew()
    files.rely(on: listing)
    defer { files.forgetListing() }
    // Where a server keeps the files, an open one may show what it held before.
    files.closeReadable()
    var catalog = Catalog()
    var recovery = Recovery(
      listing, files: files, content: content, boot: options.boot, isReadOnly: true)
    try recovery.run(into: &catalog)
    try recovery.showWhole(&catalog)
    _ = catalog.reconcile()
    let next = Fence(files, behind: listing, try recovery.journalEnd())
    context.catalog.replace(by: catalog)
    fence.withLock { $0 = next }
  }
}

extension Space {
  /// True if another session may change what this one shows.
  package var follows: Bool {
    context.options.readOnly && context.options.worksInBackground
      && !context.store.directory.kind.isSnapshot
  }

  /// Starts the thread that follows the writer.
  func follow(from fence: Fence) throws(StoreError) {
    let follower = Follower(context, from: fence)
    do throws(Errno) {
      try context.keeper.start("albumfs-follower", atOnce: true) { follower.round() }
    } catch {
      throw StoreError(.inputOutput, "cannot start a thread: \(error)", cause: error)
    }
  }
}
