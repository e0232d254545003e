import AlbumTestSupport
import FileKinds
import Foundation
import Posix
import ThumbnailProtocol
import Thumbnails

/// A worker behind its seal, as the daemon has it: a fresh one after 64 pictures. It answers each picture and
/// lives on, and its thumbnails pass the inspection.
///
/// @unchecked because libFuzzer runs one input at a time.
private final class SealedWorker: @unchecked Sendable {
  private static let limit = Duration.seconds(60)

  private let launch: WorkerLaunch
  private var worker: Worker?
  private var served = 0

  /// `ALBUMFS_FUZZ_PROGRAMS` is the directory of the programs.
  init(_ name: String) {
    let directory = ProcessInfo.processInfo.environment["ALBUMFS_FUZZ_PROGRAMS"] ?? "."
    launch = WorkerLaunch(program: "\(directory)/\(name)")
  }

  func show(_ bytes: [UInt8], as kind: ImageKind, _ work: ThumbnailRequest.Work) {
    do {
      if worker == nil || served == 64 {
        worker = nil
        worker = try Worker(launch, .ordinary, stop: Doorbell())
        require(
          try worker!.hello(until: MonotonicTime.now + SealedWorker.limit).hasSeccomp,
          "it is sealed")
        served = 0
      }
      served += 1
      let answer = try ask(bytes, work)
      guard case .thumbnail(let format, let made, _) = answer else { return }
      let isRight =
        (try? ThumbnailInspection.inspect(made, format: format, original: kind, edge: 128)) != nil
      require(isRight, "a thumbnail passes the inspection")
    } catch {
      fatalError("broken promise: the worker answers and lives on: \(error)")
    }
  }

  private func ask(_ bytes: [UInt8], _ work: ThumbnailRequest.Work) throws
    -> ThumbnailReply.Content
  {
    let deadline = MonotonicTime.now + SealedWorker.limit
    try worker!.send(ThumbnailRequest(id: 9, work: work), until: deadline)
    if case .thumbnail = work { try send(bytes[...], deadline) }
    var budget = RangeBudget(videoByteCount: UInt64(bytes.count))
    while true {
      let reply = try worker!.receive(until: deadline)
      guard case .read(let range) = reply.content else { return reply.content }
      require(budget.charge(range), "it asks for no more than it may")
      try send(bytes[Int(range.offset)..<Int(range.offset) + Int(range.length)], deadline)
    }
  }

  private func send(_ bytes: ArraySlice<UInt8>, _ deadline: MonotonicTime) throws {
    let sent = unsafe bytes.withUnsafeBytes { bytes in
      Result { try unsafe worker!.send(bytes, until: deadline) }
    }
    try sent.get()
  }
}

/// Pictures of all kinds as albumfs-thumbnailer decodes them in its cell, also by its second attempt, with
/// zeros behind a picture that ends early.
enum SealedPictureTarget: FuzzTarget {
  private static let worker = SealedWorker("albumfs-thumbnailer")

  static func seeds() -> [[UInt8]] {
    let pixels = TestPictures.pixels(width: 48, height: 30)
    let kinds =
      ["jpg", "jpg[interlace]", "png", "png[interlace]", "webp", "gif", "tif", "heic", "avif"]
      + ["jxl", "jp2"] + TestPictures.rawKinds + TestPictures.measuredKinds
      + TestPictures.plainKinds.filter { !$0.hasPrefix("plain:ps") } + TestPictures.animatedKinds
    let pictures = kinds.compactMap { try? TestPictures.make(pixels, as: $0) }
    return pictures + pictures.map { Array($0.prefix($0.count * 7 / 10)) }
      + [PlainSamples.psd(.colour, width: 8, height: 6)]
  }

  static func run(_ bytes: [UInt8]) {
    guard let kind = ImageKind(sniffing: Array(bytes.prefix(ImageKind.sniffByteCount))),
      ImageKind.pictures.contains(kind)
    else { return }
    worker.show(bytes, as: kind, .thumbnail(edge: 128, pictureByteCount: UInt64(bytes.count)))
  }
}

/// Videos as albumfs-video-thumbnailer decodes them in its cell.
enum SealedVideoTarget: FuzzTarget {
  private static let worker = SealedWorker("albumfs-video-thumbnailer")

  static func seeds() -> [[UInt8]] { VideoPosterTarget.seeds() }

  static func run(_ bytes: [UInt8]) {
    guard let kind = ImageKind(sniffing: Array(bytes.prefix(ImageKind.sniffByteCount))),
      ImageKind.videos.contains(kind)
    else { return }
    worker.show(bytes, as: kind, .poster(edge: 128, videoByteCount: UInt64(bytes.count)))
  }
}
