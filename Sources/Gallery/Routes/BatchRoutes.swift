import HTTPTypes
import Hummingbird
import NIOCore
import Posix

/// Several small files in one request: a browser and the disk take longer for a request than for a photo.
extension GalleryRoutes {
  /// The most files that begin in one request, and the most bytes of them that another request sends.
  static let batch = (files: 100, bytes: Int64(16 << 20))

  private struct BatchOrder: Decodable { var files: [UploadOrder] }

  /// What became of one file of a batch.
  private typealias Outcome = Result<UploadFiles.Finished, GalleryError>

  func addBatches(to router: Router<Context>) {
    router.post("/api/batches") { request, _ in
      let session = try sessions.session(request)
      let order = try await RequestBodies.json(request, BatchOrder.self)
      guard order.files.count <= Self.batch.files else { throw GalleryError(.invalid) }
      return try await files.run { begin(order, session) }
    }
    router.put("/api/batches") { request, context in
      let session = try sessions.session(request)
      let batch = try Self.batch(request, session)
      UploadWindow.widen(context.channel)
      let loop = LoopExecutor(context.channel.eventLoop)
      return try await withTaskExecutorPreference(loop) {
        try await receive(request, batch, session)
      }
    }
  }

  private func begin(_ order: BatchOrder, _ session: Session) -> Response {
    let results = order.files.map { file in
      Result { try begin(file, session) }.mapError { GalleryError(any: $0) }
    }
    var text = JSONText()
    text.object { text in
      text.field("uploads", each: results) { text, result in
        text.object { text in
          switch result {
          case .success(let begun): begun.write(to: &text)
          case .failure(let error): error.write(to: &text)
          }
        }
      }
    }
    return text.response()
  }

  /// The uploads that a request names, in the order of their bytes.
  private static func batch(
    _ request: Request, _ session: Session
  ) throws -> [(id: String, upload: Upload)] {
    let ids = request.query("uploads")?.split(separator: ",").map(String.init) ?? []
    guard !ids.isEmpty, ids.count <= batch.files, Set(ids).count == ids.count else {
      throw GalleryError(.invalid)
    }
    let uploads = try ids.map { (id: $0, upload: try session.uploads.upload($0)) }
    let size = uploads.reduce(0) { $0 + min($1.upload.size, batch.bytes + 1) }
    if size > batch.bytes { throw GalleryError(.large) }
    if let length = request.headers[.contentLength].flatMap({ Int64($0) }), length != size {
      throw GalleryError(.invalid, "The files have another size than announced.")
    }
    return uploads
  }

  /// Finishes each file as soon as it has come, so that a lost connection costs one at most. Replies when all
  /// that it names as saved is on disk.
  private func receive(
    _ request: Request, _ batch: [(id: String, upload: Upload)], _ session: Session
  ) async throws -> Response {
    let outcomes = try await withStallLimit(Self.slicePatience) { pulse in
      var body = BodyFiles(request.body)
      var outcomes: [Outcome] = []
      for (_, upload) in batch {
        try await body.next(size: upload.size)
        outcomes.append(try await receive(upload, from: &body, pulse, session))
      }
      try await body.end()
      return outcomes
    }
    try await session.space.barriers.wait(work)
    return reply(outcomes, batch, session)
  }

  /// Throws what ends the whole request; returns what concerns this file alone.
  private func receive(
    _ upload: Upload, from body: inout BodyFiles, _ pulse: Pulse, _ session: Session
  ) async throws -> Outcome {
    do {
      return .success(
        try await upload.exclusively { try await save(upload, from: &body, pulse, session) })
    } catch let error as CancellationError {
      throw error
    } catch {
      let error = GalleryError(any: error)
      // The rest of a body that broke off is of no use.
      if session.isLocked || (error.code == .invalid && error.numbers.isEmpty) { throw error }
      return .failure(error)
    }
  }

  private func save(
    _ upload: Upload, from body: inout BodyFiles, _ pulse: Pulse, _ session: Session
  ) async throws -> UploadFiles.Finished {
    let files = UploadFiles(space: session.space)
    let file = try await work.run { try files.open(upload, at: 0) }
    _ = try await fill(file, of: upload, from: 0, atMost: upload.size) { slice in
      while let part = try await body.part() {
        if session.isLocked { throw GalleryError(.session) }
        pulse.beat(part.readableBytes)
        session.wasUsed()
        try await slice.append(part)
      }
    }
    defer { pulse.restart() }
    return try await work.run { try files.finish(upload) }
  }

  private func reply(
    _ outcomes: [Outcome], _ batch: [(id: String, upload: Upload)], _ session: Session
  ) -> Response {
    var text = JSONText()
    text.object { text in
      text.field("files", each: zip(batch, outcomes)) { text, file in
        text.object { text in
          switch file.1 {
          case .success(let finished):
            session.uploads.remove(file.0.id)
            finished.write(to: &text, session)
          case .failure(let error): error.write(to: &text)
          }
        }
      }
    }
    return text.response()
  }
}

extension UploadFiles.Finished {
  /// What a client learns of a file that is on disk.
  func write(to text: inout JSONText, _ session: Session) {
    text.field("state", isNew ? "saved" : "there")
    text.field("name", name.text)
    text.field("photo", session.id(photo))
  }
}
