import AlbumStore
import ControlProtocol
import Daemon
import ObjectStores
import Posix

/// The place of a new store in an object storage. The store is made on this machine, in the directory for
/// what is not sent yet, and then copied. It stays there until the copy is complete, so that an interrupted
/// `init` continues.
struct RemoteRoom {
  /// The new store on this machine.
  let path: String
  private let place: S3Place
  private let target: S3Store

  init(_ place: S3Place) throws(Failure) {
    self.place = place
    let (target, endpoint) = try RemoteStores.server(of: place) { Interruption.wasAsked }
    self.target = target
    path = try StagingPlace.path(nil, place, endpoint) + "/new"
  }

  /// True if an interrupted `init` has made the store and not sent all of it.
  var isBegun: Bool { PathCalls.exists("\(path)/\(StorePath.configuration)") }

  /// Refuses a place that holds something.
  func requireEmpty() throws(Failure) {
    let names: [String]
    do throws(ObjectError) { names = try target.listAll("") { !$0.isEmpty }.map(\.name) } catch {
      throw Failure(error, "", of: target.place)
    }
    if names.isEmpty {
      let (bucket, _) = try RemoteStores.server(of: place.wholeBucket) { Interruption.wasAsked }
      return try StorePlace.requireApart(place, in: bucket)
    }
    if names.contains(StorePath.configuration) {
      if names.contains(StoreTransfer.mark) {
        throw RemoteStores.unfinished(target.place, hasConfiguration: true)
      }
      throw Failure(.notEmpty, "\(target.place) is a store already.")
    }
    let inner = names.lazy.compactMap { place.inner(withConfiguration: $0) }.first
    let reason = inner.map { "holds the store \($0)" } ?? "is not empty"
    throw Failure(
      .notEmpty, "\(target.place) \(reason); a new store needs a prefix of its own.")
  }

  /// Copies the store to its place, and removes it from this machine.
  func send(_ output: OutputOptions) throws(Failure) {
    let directory: PosixDirectory
    do throws(Errno) { directory = try PosixDirectory(path: path) } catch {
      throw Failure(opening: path, error)
    }
    Interruption.collect()
    let bar = ProgressBar("Sending", isShown: !output.quiet)
    var options = StoreTransfer.Options()
    options.isStopped = { Interruption.wasAsked }
    options.watch = { bar.show($0.doneBytes, of: $0.bytes) }
    let source = DirectoryStore(place: path, directory)
    do throws(StoreTransferError) {
      defer { bar.clear() }
      _ = try StoreTransfer(from: source, to: target, options).run()
    } catch {
      if error == .copied {
        throw Failure(.notEmpty, "\(target.place) is a store already.")
      }
      throw Failure(error, from: path, to: target.place)
    }
    Interruption.install()
    do throws(Errno) {
      try StoreRoom.empty(directory)
      try PathCalls.removeDirectory(path)
    } catch {
      Terminal.complain("\(path), which is not needed any more, cannot be removed: \(error)")
    }
  }
}
