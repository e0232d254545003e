import AlbumFormat
import AlbumModel
import Logging
import Posix

// A space that was opened for reading follows the session that writes it, on this machine or another one: it
// shows what that has on disk, a few seconds later. It reads the journal anew when it has grown, and puts the
// new catalog in the place of the old one. Whoever knows an inode knows it by its number, which stays.

/// Keeps a space at what a writer has on disk. Only its thread calls `round`; the rest from any thread.
final class Follower: SpacePart, Sendable {
  let context: SpaceContext

  private struct State {
    var fence: Fence
    var report: RecoveryReport
    var following = Following(lastLook: SystemClock.wall())
  }
  private let state: Mutex<State>

  /// The time between two looks. On a local disk, reading a long journal takes a third of the time at most;
  /// on a network it mostly waits.
  private static let interval = TestHooks.delay(.following, .seconds(5))
  /// Where each look is some requests to a server.
  private static let intervalThere = TestHooks.delay(.following, .seconds(10))
  private static let restAfterReading = 2

  /// Behind what recovery found.
  init(_ context: SpaceContext, from fence: Fence, _ report: RecoveryReport) {
    self.context = context
    state = Mutex(State(fence: fence, report: report), rank: .leaf)
  }

  var following: Following { state.withLock { $0.following } }

  /// What the last reading of the journal found.
  var report: RecoveryReport { state.withLock { $0.report } }

  /// One look; returns the time of the next.
  func round() -> MonotonicTime {
    let begun = MonotonicTime.now
    do throws(StoreError) {
      let now = SystemClock.wall()
      if try state.withLock({ $0.fence }).hasMoved() { try readAnew() }
      state.withLock { $0.following = Following(lastLook: now) }
    } catch {
      // The writer may have removed what was listed, or the network is away. The next look tells.
      let isFirst = state.withLock { state in
        defer { state.following.problem = error }
        return state.following.problem == nil
      }
      if isFirst { options.logger.warning("cannot follow the writer for now: \(error)") }
    }
    let now = MonotonicTime.now
    let rest = files.directory.kind.isLocal ? (now - begun) * Follower.restAfterReading : .zero
    let isThere = files.directory.kind.isSnapshot
    return now + max(isThere ? Follower.intervalThere : Follower.interval, rest)
  }

  private func readAnew() throws(StoreError) {
    if let listing = try grownListing(), try show(listing, onlyIfWhole: true) { return }
    _ = try show(files.listAnew(), onlyIfWhole: false)
  }

  /// What is there now, without listing an object storage; nil if only a listing shows it.
  private func grownListing() throws(StoreError) -> SegmentListing? {
    if !files.directory.kind.isSnapshot { return nil }
    guard let end = state.withLock({ $0.fence }).end else { return nil }
    let grown = try ListingGrowth.grown(files.list(), behind: end, files)
    if let grown { files.rely(onGrown: grown) }
    return grown
  }

  /// Shows what recovery reads. With `onlyIfWhole`, returns false if something seems to be missing.
  private func show(_ listing: SegmentListing, onlyIfWhole: Bool) throws(StoreError) -> Bool {
    files.rely(on: listing)
    defer { files.forgetListing() }
    // Where a server keeps the files, an open one may show what it held before.
    files.closeReadable()
    var catalog = Catalog()
    var recovery = Recovery(
      listing, files: files, content: content, boot: options.boot, isReadOnly: true)
    do throws(StoreError) {
      try recovery.run(into: &catalog)
      try recovery.showWhole(&catalog)
    } catch {
      if onlyIfWhole { return false }
      throw error
    }
    if onlyIfWhole, recovery.report.isDamaged { return false }
    _ = catalog.reconcile()
    let next = Fence(files, behind: listing, try recovery.journalEnd())
    context.catalog.replace(by: catalog)
    state.withLock { ($0.fence, $0.report) = (next, recovery.report) }
    return true
  }
}

extension Space {
  /// True if another session may change what this one shows.
  package var follows: Bool {
    context.options.readOnly && context.options.worksInBackground
  }

  /// Starts the thread that follows the writer.
  func follow(from fence: Fence) throws(StoreError) {
    let follower = Follower(context, from: fence, recovery)
    self.follower.withLock { $0 = follower }
    do throws(Errno) {
      try context.keeper.start("albumfs-follower", atOnce: true) { follower.round() }
    } catch {
      throw StoreError(.inputOutput, "cannot start a thread: \(error)", cause: error)
    }
  }
}
