package import AlbumFormat
import AlbumModel
package import Logging
import Posix

/// How to open a space.
package struct SpaceOpenOptions: Sendable {
  package var readOnly = false
  /// How long a segment stays after it was retired, so that a running copy of the store still finds it.
  package var grace = StoreTime.grace
  /// True: threads of the space append frames, sync and sweep. False: only explicit calls do that, for tests
  /// that need a fixed order.
  package var worksInBackground = true
  /// The clock that decides how long something is kept.
  package var time = TimeSource.system
  /// The machine's run during this session.
  package var boot = BootIdentity.current
  /// True: the session adds chaff as `ChaffRule` says.
  package var addsChaff = false
  /// How long a mount that writes watches a session that has not ended, where its lock may not show it.
  package var watch = TestHooks.delay(.watch, .seconds(6))
  /// The same where the store lies elsewhere, and a session sends every 30 seconds.
  package static let watchThere = TestHooks.delay(.watch, .seconds(40))
  /// A user's barrier is one where the store lies.
  package var syncsThere = false
  /// Who watches the space's journal and compaction.
  package var trace = SpaceTrace()
  /// The precautions that the crash harness leaves out.
  var omitting: Set<Precaution> = []
  package var logger: Logger

  package init(logger: Logger) { self.logger = logger }
}

/// The parts of an opened space that all others share. Any thread.
final class SpaceContext: Sendable {
  let store: Store
  let files: SegmentFiles
  let content: ContentStore
  let catalog: CatalogLock
  let options: SpaceOpenOptions
  let lock: SpaceLock?
  let fence: Fence
  let keeper = Keeper()
  let room: DiskRoom
  let health: Health
  let useClock: UseClock
  /// True if nothing of the store may be removed until `albumfs check --repair`: frames of the journal are
  /// missing, and apparent garbage may be content that they recorded; or segments of another copy of the
  /// store, which was written to, are mixed with this one.
  let keepsEverything: Bool
  /// Data segments from this number on were begun by this session.
  let firstOwnSegment: UInt32

  init(
    store: Store, files: SegmentFiles, content: ContentStore, catalog: consuming Catalog,
    checkpointSegments: UInt32, keepsEverything: Bool, lock: SpaceLock?, fence: Fence,
    options: SpaceOpenOptions
  ) {
    var catalog = catalog
    self.store = store
    self.files = files
    self.content = content
    self.options = options
    self.lock = lock
    self.fence = fence
    self.keepsEverything = keepsEverything
    firstOwnSegment = catalog.counters.nextDataSegment
    useClock = catalog.startUseClock(files.clock)
    self.catalog = CatalogLock(catalog)
    room = DiskRoom(
      files: files, checkpointSegments: checkpointSegments, logger: options.logger
    ) { [keeper] in keeper.wake() }
    health = Health(isReadOnly: options.readOnly, logger: options.logger)
  }
}

/// A part of an open space that works on the state in the context.
protocol SpacePart {
  var context: SpaceContext { get }
}

extension SpacePart {
  var files: SegmentFiles { context.files }
  var content: ContentStore { context.content }
  var catalog: CatalogLock { context.catalog }
  var options: SpaceOpenOptions { context.options }
  var keeper: Keeper { context.keeper }
  var room: DiskRoom { context.room }
  var health: Health { context.health }
  var trace: SpaceTrace { context.options.trace }
}
