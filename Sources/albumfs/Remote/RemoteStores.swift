import AlbumFormat
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon
import ObjectStores
import Posix

/// Opens stores wherever they are: in a directory, or in an object storage.
enum RemoteStores {
  /// Opens a store for reading, or one in a directory. `path` is absolute, or an address of a bucket. The
  /// server and the credentials of that come from the environment and from `~/.aws`.
  static func open(_ path: String) throws(Failure) -> Store {
    guard isRemote(path) else {
      if PathCalls.exists("\(path)/\(StoreTransfer.mark)") { throw unfinished(path) }
      return try StoreOpening.open(path)
    }
    let remote = try usualOptions().store(try place(path)) { false }
    return try open(remote, ObjectDirectory(remote))
  }

  /// Opens the store of a mount.
  static func openForMount(
    _ launch: LaunchOptions, _ tell: @escaping @Sendable (Outage?) -> Void
  ) throws(Failure) -> Store {
    try requireRemote(launch)
    guard isRemote(launch.store), try !launch.changesNothing else { return try open(launch.store) }
    return try openToWrite(launch.store, launch.staging, launch.stagingBytes, tell)
  }

  /// Opens a store for a repair. `staging` is a directory as it was typed.
  static func openToRepair(_ path: String, _ staging: String?) throws(Failure) -> Store {
    let path = MountPath.resolve(path)
    if isRemote(path) {
      let staging = try staging.map(StagingPlace.resolve)
      return try openToWrite(path, staging, nil) { _ in }
    }
    if staging == nil { return try open(path) }
    throw Failure(.usage, "--staging is for stores in an object storage (s3://bucket/prefix).")
  }

  /// Throws if options for a store in an object storage were given for another.
  static func requireRemote(_ launch: LaunchOptions) throws(Failure) {
    if isRemote(launch.store) { return }
    if launch.durability == nil, launch.staging == nil, launch.stagingBytes == nil { return }
    throw Failure(
      .usage,
      "--durability, --staging and --staging-size are for stores in an object storage (s3://bucket/prefix)."
    )
  }

  private static func isRemote(_ path: String) -> Bool { path.hasPrefix(S3Place.scheme) }

  private static func place(_ path: String) throws(Failure) -> S3Place {
    if case .bucket(let place) = try StorePlace(path) { return place }
    throw Failure(.usage, "\(path) is no address of the form s3://bucket/prefix.")
  }

  /// Eight connections send at most, so that reading has some.
  private static let connections = 16

  private static func openToWrite(
    _ path: String, _ staging: String?, _ limit: Int64?,
    _ tell: @escaping @Sendable (Outage?) -> Void
  ) throws(Failure) -> Store {
    let place = try place(path)
    let hindrance = Mutex<ObjectError.Hindrance?>(nil, rank: .leaf)
    let (remote, endpoint) = try server(of: place, { false }) { reason in
      hindrance.withLock { $0 = reason }
    }
    let waiting = try StagingPlace.make(staging, place, endpoint)
    let limit = limit ?? StagingPlace.usualBytes
    let directory = StagedDirectory(
      remote, staging: waiting, limit: limit, tell: tell, words: { $0.phrase },
      hindrance: { hindrance.withLock { $0 } })
    let store = try open(remote, directory)
    let least = StagingPlace.leastSegments * Int64(store.configuration.segmentSize)
    if limit < least {
      throw Failure(
        .usage,
        "The files of this store are large, so --staging-size must be \(SizeArgument.text(least)) or more."
      )
    }
    try requireConditions(remote)
    return store
  }

  private static func open(
    _ remote: S3Store, _ directory: any StorageDirectory
  ) throws(Failure) -> Store {
    try look(at: remote)
    do throws(StoreError) { return try Store.open(directory) } catch {
      throw Failure(error, of: remote.place)
    }
  }

  /// The store behind an address, for a command that writes, and its server.
  static func server(
    of place: S3Place, _ isStopped: @escaping @Sendable () -> Bool,
    notice: @escaping @Sendable (ObjectError.Hindrance?) -> Void = { _ in }
  ) throws(Failure) -> (S3Store, S3Endpoint) {
    var options = try usualOptions()
    options.connections = connections
    let endpoint = try S3Access(options).endpoint(allowingHTTP: options.allowHTTP)
    return (try options.store(place, isStopped, notice: notice), endpoint)
  }

  private static func usualOptions() throws(Failure) -> S3Options {
    do { return try S3Options.parse([]) } catch {
      throw Failure(.usage, S3Options.message(for: error))
    }
  }

  /// Names what is wrong with the server or the bucket, and refuses a copy that is not complete.
  private static func look(at store: S3Store) throws(Failure) {
    let isUnfinished: Bool
    do throws(ObjectError) { isUnfinished = try store.holdsUnfinishedCopy() } catch {
      throw Failure(error, "", of: store.place)
    }
    if isUnfinished { throw unfinished(store.place) }
  }

  /// Refuses a server on which two machines could write at once, or an old content could replace a new one.
  private static func requireConditions(_ store: S3Store) throws(Failure) {
    let properties: ObjectStoreProperties
    do throws(ObjectError) { properties = try store.probe() } catch {
      throw Failure(error, "", of: store.place)
    }
    let lacks = [
      properties.createsIfAbsent
        ? nil : "it saves a file that is to be new over another (If-None-Match)",
      properties.replacesIfSame
        ? nil : "it saves a file over one that has changed meanwhile (If-Match)",
      properties.listsAtOnce ? nil : "it lists what was saved and removed only later",
    ].compactMap { $0 }
    if lacks.isEmpty { return }
    throw Failure(
      .unsupported,
      "\(store.place): on this server nothing keeps two machines from writing at once: "
        + "\(lacks.joined(separator: "; ")). A store there can be read, and changed with albumfs copy --update.",
      remedy: .mountReadOnly)
  }

  private static func unfinished(_ place: String) -> Failure {
    Failure(
      .storeMissing,
      "\(place) is a copy that is not complete: albumfs copy, or init, still runs, or was interrupted and has to "
        + "be run again.")
  }
}
