import AlbumModel
import FileKinds
import Foundation
import Posix
import ThumbnailProtocol
import Thumbnails

/// A worker of the program that was just built, with short calls.
struct TestWorker: ~Copyable {
  let worker: Worker
  let report: CellReport

  static let program = program(named: "albumfs-thumbnailer")

  /// A program beside the test bundle.
  static func program(named name: String) -> String {
    let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
    var directory = URL(fileURLWithPath: bundle)
    while directory.path != "/" {
      directory.deleteLastPathComponent()
      let place = directory.appendingPathComponent(name).path
      if FileManager.default.isExecutableFile(atPath: place) { return place }
    }
    return name
  }

  static var launch: WorkerLaunch {
    var launch = WorkerLaunch(program: program)
    launch.allowsMisbehaviour = true
    return launch
  }

  init(_ launch: WorkerLaunch = TestWorker.launch, _ share: ProcessorShare = .ordinary) throws {
    let started = try Worker(launch, share, stop: Doorbell())
    report = try started.hello(until: .now + .seconds(300))
    worker = started
  }

  func probe() throws -> ProbeReport? {
    try worker.send(ThumbnailRequest(id: 1, work: .probe), until: .now + .seconds(300))
    guard case .probe(let report) = try worker.receive(until: .now + .seconds(300)).content else {
      return nil
    }
    return report
  }

  func ask(
    _ picture: [UInt8], edge: UInt32 = 512, rotation: Rotation = .none
  ) throws -> ThumbnailReply.Content {
    let deadline = MonotonicTime.now + .seconds(300)
    let work = ThumbnailRequest.Work.thumbnail(
      edge: edge, pictureByteCount: UInt64(picture.count), rotation: rotation)
    try worker.send(ThumbnailRequest(id: 9, work: work), until: deadline)
    let sent = unsafe picture.withUnsafeBytes { bytes in
      Result { try unsafe worker.send(bytes, until: deadline) }
    }
    try sent.get()
    return try worker.receive(until: deadline).content
  }

  /// The thumbnail, or a thrown failure.
  func thumbnail(of picture: [UInt8], edge: UInt32 = 512) throws -> (ImageKind, [UInt8]) {
    switch try ask(picture, edge: edge) {
    case .thumbnail(let kind, let bytes, _): return (kind, bytes)
    case .failure(let failure, _): throw failure
    case .hello, .probe, .read: throw PictureFailure.internal
    }
  }

  /// What the worker tells about a picture beside its thumbnail.
  func facts(of picture: [UInt8], rotation: Rotation = .none) throws -> PictureFacts {
    switch try ask(picture, rotation: rotation) {
    case .thumbnail(_, _, let facts): return facts
    case .failure(let failure, _): throw failure
    case .hello, .probe, .read: throw PictureFailure.internal
    }
  }
}
