import AlbumModel
import FileKinds
import Foundation
import Posix
import ThumbnailProtocol
import Thumbnails

/// A worker for videos, as it was just built.
struct TestVideoWorker: ~Copyable {
  let worker: Worker
  let report: CellReport

  /// The reply to a video, and the ranges that the worker asked for.
  struct Outcome {
    var content: ThumbnailReply.Content
    var ranges: [VideoRange]
  }

  static func launch(marksVideos: Bool = false) -> WorkerLaunch {
    var launch = WorkerLaunch(program: TestWorker.program(named: "albumfs-video-thumbnailer"))
    launch.marksVideos = marksVideos
    return launch
  }

  init(marksVideos: Bool = false) throws {
    let started = try Worker(
      TestVideoWorker.launch(marksVideos: marksVideos), .ordinary, stop: Doorbell())
    report = try started.hello(until: .now + .seconds(300))
    worker = started
  }

  /// `byteCount`: of the video, if it has zeros behind its bytes.
  func ask(
    _ video: [UInt8], edge: UInt32 = 512, rotation: Rotation = .none, byteCount: UInt64? = nil,
    within limit: Duration = .seconds(300)
  ) throws -> Outcome {
    let deadline = MonotonicTime.now + limit
    let count = byteCount ?? UInt64(video.count)
    let work = ThumbnailRequest.Work.poster(edge: edge, videoByteCount: count, rotation: rotation)
    try worker.send(ThumbnailRequest(id: 9, work: work), until: deadline)
    var budget = RangeBudget(videoByteCount: count)
    var ranges: [VideoRange] = []
    while true {
      let reply = try worker.receive(until: deadline)
      guard reply.id == 9 else { throw Worker.Failure.died }
      guard case .read(let range) = reply.content else {
        return Outcome(content: reply.content, ranges: ranges)
      }
      guard budget.charge(range) else { throw Worker.Failure.died }
      ranges.append(range)
      let start = min(video.count, Int(range.offset))
      let end = min(video.count, start + Int(range.length))
      let zeros = [UInt8](repeating: 0, count: Int(range.length) - (end - start))
      let part = Array(video[start..<end]) + zeros
      let sent = unsafe part.withUnsafeBytes { bytes in
        Result { try unsafe worker.send(bytes, until: deadline) }
      }
      try sent.get()
    }
  }

  /// The thumbnail and what is known of the video, or a thrown failure.
  func poster(of video: [UInt8], edge: UInt32 = 512, rotation: Rotation = .none) throws
    -> (jpeg: [UInt8], facts: PictureFacts)
  {
    switch try ask(video, edge: edge, rotation: rotation).content {
    case .thumbnail(.jpeg, let bytes, let facts): return (bytes, facts)
    case .failure(let failure, _): throw failure
    default: throw PictureFailure.internal
    }
  }

  /// What the process has used so far.
  var processorTime: Duration {
    let stat = try? String(contentsOfFile: "/proc/\(worker.process)/stat", encoding: .utf8)
    // The fields after the name, which is in parentheses; the 12th and 13th are hundredths of a second.
    let fields = (stat ?? "").split(separator: ")").last.map { $0.split(separator: " ") } ?? []
    return .milliseconds(fields.count > 12 ? (Int(fields[11])! + Int(fields[12])!) * 10 : 0)
  }

  func probe() throws -> ProbeReport? {
    try worker.send(ThumbnailRequest(id: 1, work: .probe), until: .now + .seconds(300))
    guard case .probe(let report) = try worker.receive(until: .now + .seconds(300)).content else {
      return nil
    }
    return report
  }
}
