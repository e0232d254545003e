import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumStore
import ControlProtocol
import Logging
import Posix
import ThumbnailProtocol
import Thumbnails

/// Decodes photos on demand, in cells of their own: what a browser cannot show, in a screen's size.
/// A person waits for these, so their workers always have an ordinary share of the processor. Nothing of them
/// is kept. Any thread.
final class Previews: Sendable {
  /// One request. Its result is nil while it waits.
  private struct Order {
    var number: UInt64
    var photo: PhotoVersion
    var edge: Int
    var result: Result<[UInt8], ThumbnailFailure>?
    var isTaken = false
  }

  private struct State {
    var orders: [Order] = []
    var next: UInt64 = 0
    var queue: ThumbnailQueue?
    var isOver = false
  }

  private let fileSystem: FileSystem
  private let space: Space
  private let program: String
  private let logger: Logger
  private let state = Monitor(State(), rank: .leaf)

  /// The long edge, in pixels. A larger wish gets the greatest.
  static let edges = 64...2048
  private static let limit = 16
  /// The attribute by which users turn a photo.
  private static let rotation = Array("user.albumfs.rotation".utf8)
  private static let patience = Duration.seconds(60)

  init(_ fileSystem: FileSystem, _ space: Space, program: String, logger: Logger) {
    self.fileSystem = fileSystem
    self.space = space
    self.program = program
    self.logger = logger
  }

  /// Waits for the picture.
  func make(_ path: [UInt8], edge: Int) throws(Failure) -> [UInt8] {
    guard let photo = version(at: path) else { throw Failure(.usage, "There is no such photo.") }
    let number = try add(
      photo, min(max(edge, Previews.edges.lowerBound), Previews.edges.upperBound))
    defer { state.withLock { $0.orders.removeAll { $0.number == number } } }
    wake()
    let deadline = MonotonicTime.now + Previews.patience
    let result = state.waiting(until: deadline) { state -> Result<[UInt8], ThumbnailFailure>? in
      if state.isOver { return .failure(.internal) }
      return state.orders.first { $0.number == number }?.result
    }
    switch result {
    case .success(let bytes): return bytes
    case .failure(.damaged): throw Failure(.damaged, "The photo is damaged.")
    case .failure(let failure):
      throw Failure(.unsupported, "The photo cannot be shown: \(failure.explanation).")
    case nil: throw Failure(.timedOut, "Decoding took too long.")
    }
  }

  /// Ends the workers.
  func stop() {
    let queue = state.withLock { state in
      state.isOver = true
      return state.queue.take()
    }
    state.notifyAll()
    queue?.stop()
  }

  private func version(at path: [UInt8]) -> PhotoVersion? {
    guard let inode = try? fileSystem.resolve(path: path) else { return nil }
    return space.read { catalog in
      guard let index = catalog.index(of: inode) else { return nil }
      let rotation = catalog.attribute(Previews.rotation, of: index).flatMap { Rotation($0) }
      return PhotoVersion(
        inode: inode, version: catalog.state(index).contentVersion, rotation: rotation ?? .none)
    }
  }

  private func add(_ photo: PhotoVersion, _ edge: Int) throws(Failure) -> UInt64 {
    try state.withLock { state throws(Failure) in
      if state.isOver || state.orders.count >= Previews.limit {
        throw Failure(.busy, "Too many pictures are being decoded.")
      }
      state.next += 1
      state.orders.append(Order(number: state.next, photo: photo, edge: edge))
      return state.next
    }
  }

  /// Starts the workers with the first picture.
  private func wake() {
    let known = state.withLock { $0.queue }
    if let known { return known.wake() }
    let launch = WorkerLaunch(program: program)
    guard let made = try? ThumbnailQueue(source: self, launch: launch, workers: 2, logger: logger)
    else { return }
    let isKept = state.withLock { state in
      if state.queue != nil || state.isOver { return false }
      state.queue = made
      return true
    }
    if isKept { made.wake() } else { made.stop() }
  }

  private func end(_ photo: PhotoVersion, _ result: Result<[UInt8], ThumbnailFailure>) {
    state.withLock { state in
      for place in state.orders.indices
      where state.orders[place].photo == photo && state.orders[place].isTaken {
        state.orders[place].result = result
        state.orders[place].isTaken = false
      }
    }
    state.notifyAll()
    // One of the same photo in another size may have waited.
    state.withLock { $0.queue }?.wake()
  }
}

extension Previews: PhotoSource {
  /// The oldest order whose photo no worker has.
  func nextPhoto() -> PhotoVersion? {
    state.withLock { state in
      let busy = Set(state.orders.filter(\.isTaken).map(\.photo))
      let place = state.orders.firstIndex {
        $0.result == nil && !$0.isTaken && !busy.contains($0.photo)
      }
      guard let place else { return nil }
      state.orders[place].isTaken = true
      return state.orders[place].photo
    }
  }

  /// Letting orders gather would only make a person wait.
  var arrivals: Int { 0 }
  var copiesGoFirst: Bool { false }

  func size(of photo: PhotoVersion) -> Int64? {
    let isWanted = state.withLock { state in
      state.orders.contains { $0.photo == photo && $0.isTaken }
    }
    if !isWanted { return nil }
    let size = fileSystem.photoSize(photo)
    if size == nil { end(photo, .failure(.internal)) }
    return size
  }

  func read(_ photo: PhotoVersion, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
    -> Int?
  {
    do throws(PhotoFault) {
      return try unsafe fileSystem.readPhoto(photo, into: buffer, at: offset)
    } catch {
      end(photo, .failure(error == .damaged ? .damaged : .internal))
      return nil
    }
  }

  func finish(_ photo: PhotoVersion, thumbnail: [UInt8], facts: PictureFacts) {
    end(photo, .success(thumbnail))
  }
  func fail(_ photo: PhotoVersion, reason: ThumbnailFailure) { end(photo, .failure(reason)) }

  func share(for photo: PhotoVersion) -> ProcessorShare { .ordinary }

  var thumbnailEdge: Int { Previews.edges.upperBound }

  func edge(of photo: PhotoVersion) -> Int {
    state.withLock { state in
      state.orders.first { $0.photo == photo && $0.isTaken }?.edge ?? Previews.edges.lowerBound
    }
  }
}
