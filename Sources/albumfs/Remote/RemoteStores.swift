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
  /// `isForMount`: the space is unlocked at once.
  static func open(_ path: String, isForMount: Bool = false) throws(Failure) -> Store {
    guard isRemote(path) else {
      if PathCalls.exists("\(path)/\(StoreTransfer.mark)") {
        let hasConfiguration = PathCalls.exists("\(path)/\(StorePath.configuration)")
        throw unfinished(path, hasConfiguration: hasConfiguration)
      }
      return try StoreOpening.open(path)
    }
    let remote = try usualOptions().store(try place(path)) { false }
    let directory = ObjectDirectory(remote)
    return try open(remote, directory, directory, isForMount)
  }

  /// Opens the store of a mount.
  static func openForMount(
    _ launch: LaunchOptions, _ tell: @escaping @Sendable (Outage?) -> Void
  ) throws(Failure) -> OpenedStore {
    try requireRemote(launch)
    guard isRemote(launch.store), try !launch.changesNothing else {
      return OpenedStore(try open(launch.store, isForMount: true))
    }
    let (store, trial) = try openToWrite(launch.store, launch.staging, launch.stagingBytes, tell)
    return OpenedStore(store) { trial.failure }
  }

  /// Opens a store for a repair. `staging` is a directory as it was typed.
  static func openToRepair(_ path: String, _ staging: String?) throws(Failure) -> Store {
    let path = MountPath.resolve(path)
    if isRemote(path) {
      let staging = try staging.map(StagingPlace.resolve)
      let (store, trial) = try openToWrite(path, staging, nil) { _ in }
      if let failure = trial.failure { throw failure }
      return store
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

  static func isRemote(_ path: String) -> Bool { path.hasPrefix(S3Place.scheme) }

  private static func place(_ path: String) throws(Failure) -> S3Place {
    if case .bucket(let place) = try StorePlace(path) { return place }
    throw Failure(.usage, "\(path) is no address of the form s3://bucket/prefix.")
  }

  /// Eight connections send at most, so that reading has some.
  private static let connections = 16

  /// Nothing may be written to the store before the trial of its server has succeeded.
  private static func openToWrite(
    _ path: String, _ staging: String?, _ limit: Int64?,
    _ tell: @escaping @Sendable (Outage?) -> Void
  ) throws(Failure) -> (Store, ConditionTrial) {
    let place = try place(path)
    let hindrance = Mutex<ObjectError.Hindrance?>(nil, rank: .leaf)
    let (remote, endpoint) = try server(of: place, { false }) { reason in
      hindrance.withLock { $0 = reason }
    }
    let waiting = try StagingPlace.make(staging, place, endpoint)
    let limit = limit ?? StagingPlace.usualBytes
    let directory = StagedDirectory(
      remote, staging: waiting.directory, at: waiting.path, limit: limit, tell: tell,
      words: { $0.phrase },
      hindrance: { hindrance.withLock { $0 } })
    let store = try open(remote, directory, directory.far)
    let least = StagingPlace.leastSegments * Int64(store.configuration.segmentSize)
    if limit < least {
      throw Failure(
        .usage,
        "The files of this store are large, so --staging-size must be \(SizeArgument.text(least)) or more."
      )
    }
    return (store, ConditionTrial(of: remote))
  }

  /// `far` is what is read of the directory from the server.
  private static func open(
    _ remote: S3Store, _ directory: any StorageDirectory, _ far: ObjectDirectory,
    _ isForMount: Bool = true
  ) throws(Failure) -> Store {
    try look(at: remote, far, isForMount)
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
  private static func look(
    at store: S3Store, _ far: ObjectDirectory, _ loadsKeys: Bool
  ) throws(Failure) {
    let found: ObjectDirectory.Place
    do throws(ObjectError) { found = try far.look(loadsKeys: loadsKeys) } catch {
      throw Failure(error, "", of: store.place)
    }
    if case .unfinished(let hasConfiguration) = found {
      throw unfinished(store.place, hasConfiguration: hasConfiguration)
    }
  }

  /// `hasConfiguration`: it is also a store but for the mark.
  static func unfinished(_ place: String, hasConfiguration: Bool) -> Failure {
    let again =
      "\(place) is a copy that is not complete: albumfs copy, or init, still runs, or was interrupted and has to "
      + "be run again."
    if !hasConfiguration { return Failure(.storeMissing, again) }
    return Failure(
      .storeMissing,
      "\(again) If no copy was interrupted there, somebody has brought \(place)/\(StoreTransfer.mark) back: remove "
        + "this one file, and run albumfs check.")
  }
}
