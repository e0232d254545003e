package import AlbumFormat
import AlbumModel
package import Logging
import Posix

/// How a space is opened.
package struct SpaceOpenOptions: Sendable {
  package var readOnly = false
  /// How long a segment stays after it was retired, in seconds, so that a copy of the store under
  /// way still finds it.
  package var graceSeconds: Int64 = 15 * 60
  /// True: threads of the space's own frame, sync and sweep. False: only what is called happens, for
  /// tests that need every step in order.
  package var worksInBackground = true
  /// Where the times come from that decide how long something is kept.
  package var time = TimeSource.system
  /// The start of the machine that this session is of.
  package var boot = BootIdentity.current
  /// True: the session adds chaff as `ChaffRule` says.
  package var addsChaff = false
  /// The precautions that the crash harness leaves out.
  package var omitting: Set<Precaution> = []
  package var logger: Logger

  package init(logger: Logger) { self.logger = logger }
}

/// The parts of an opened space that all others share.
final class SpaceContext: Sendable {
  let store: Store
  let files: SegmentFiles
  let content: ContentStore
  let catalog: CatalogLock
  let options: SpaceOpenOptions
  let lock: SpaceLock?
  let keeper = Keeper()
  let room: DiskRoom
  let health: Health
  /// Nothing of the store is removed: frames of the journal are missing, and what looks like garbage may be
  /// what they told of; or another copy of the store, which was written to, is mixed with this one. Until
  /// a repair.
  let keepsEverything: Bool
  /// Data segments from this number on were begun by this session.
  let firstOwnSegment: UInt32

  init(
    store: Store, files: SegmentFiles, content: ContentStore, catalog: consuming Catalog,
    checkpointSegments: UInt32, keepsEverything: Bool, lock: SpaceLock?, options: SpaceOpenOptions
  ) {
    self.store = store
    self.files = files
    self.content = content
    self.options = options
    self.lock = lock
    self.keepsEverything = keepsEverything
    firstOwnSegment = catalog.counters.nextDataSegment
    self.catalog = CatalogLock(catalog)
    room = DiskRoom(
      files: files, checkpointSegments: checkpointSegments, logger: options.logger
    ) { [keeper] in keeper.wake() }
    health = Health(isReadOnly: options.readOnly, logger: options.logger)
  }
}

/// A part of an opened space that works on what the context holds.
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
}
