import AlbumModel
import HTTPTypes
import Hummingbird
import NIOCore
import Posix

extension GalleryRoutes {
  /// The longest slice, in bytes.
  static let sliceSize = 8 << 20
  /// A client that sends almost nothing for so long is cut off. What has arrived of a browser's upload stays.
  static let slicePatience = TestHooks.delay(.slice, .seconds(30))

  /// A SHA-256 in hexadecimal.
  private struct Hash: Decodable {
    let bytes: [UInt8]

    enum CodingKeys: CodingKey { case sha256 }

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      bytes = try SHA256Text.bytes(try fields.decode(String.self, forKey: .sha256))
    }
  }

  /// The hash of the next `size` bytes that lie on the server.
  private struct Proof: Decodable {
    var size: Int64
    var hash: [UInt8]

    enum CodingKeys: CodingKey { case size, sha256 }

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      size = try fields.decode(Int64.self, forKey: .size)
      hash = try SHA256Text.bytes(try fields.decode(String.self, forKey: .sha256))
    }
  }

  func addUploads(to router: Router<Context>) {
    router.post("/api/uploads") { request, _ in
      let session = try sessions.session(request)
      let order = try await RequestBodies.json(request, UploadOrder.self)
      return try await files.run {
        let begun = try begin(order, session)
        var text = JSONText()
        text.object { begun.write(to: &$0) }
        return text.response()
      }
    }
    router.put("/api/uploads/:id") { request, context in
      let (session, upload, _) = try upload(request, context)
      guard let offset = request.query("offset").flatMap({ Int64($0) }), offset >= 0 else {
        throw GalleryError(.invalid)
      }
      let end = try await upload.exclusively {
        UploadWindow.widen(context.channel)
        let loop = LoopExecutor(context.channel.eventLoop)
        return try await withTaskExecutorPreference(loop) {
          try await receive(request, upload, at: offset, session)
        }
      }
      return Self.reply(offset: end)
    }
    router.post("/api/uploads/:id/proof") { request, context in
      let (session, upload, _) = try upload(request, context)
      let proof = try await RequestBodies.json(request, Proof.self)
      guard proof.size > 0, proof.size <= Self.sliceSize else { throw GalleryError(.invalid) }
      let end = try await upload.exclusively {
        try await work.run {
          try UploadFiles(space: session.space).prove(upload, proof.size, proof.hash)
        }
      }
      return Self.reply(offset: end)
    }
    router.get("/api/uploads/:id") { request, context in
      Self.reply(offset: try upload(request, context).1.progress.proven)
    }
    router.post("/api/uploads/:id/finish") { request, context in
      let (session, upload, id) = try upload(request, context)
      return try await upload.exclusively { try await finish(upload, id, session) }
    }
    router.post("/api/uploads/:id/same") { request, context in
      let (session, upload, id) = try upload(request, context)
      let hash = try await RequestBodies.json(request, Hash.self).bytes
      return try await upload.exclusively { try await compare(upload, id, hash, session) }
    }
    router.post("/api/uploads/:id/cancel") { request, context in
      let (session, upload, id) = try upload(request, context)
      return try await upload.exclusivelySoon {
        try await files.run { try UploadFiles(space: session.space).cancel(upload) }
        session.uploads.remove(id)
        return JSONText.empty
      }
    }
  }

  private func upload(_ request: Request, _ context: Context) throws -> (Session, Upload, String) {
    let session = try sessions.session(request)
    let id = try Self.parameter("id", context)
    return (session, try session.uploads.upload(id), id)
  }

  private static func reply(offset: Int64) -> Response {
    var text = JSONText()
    text.object { $0.field("offset", offset) }
    return text.response()
  }

  /// Begins one upload, or finds what an earlier one left. Blocks.
  func begin(_ order: UploadOrder, _ session: Session) throws -> BegunUpload {
    try session.space.requireWritable()
    let (name, folders) = try order.checked()
    let files = UploadFiles(space: session.space)
    let album = try files.album(try session.album(order.album).found.inode, folders: folders)
    let upload = Upload(
      album: album, name: name, size: order.size,
      modified: Timestamp(nanoseconds: Int64(order.modified * 1e9)), key: try files.key())
    let offset = try files.found(upload)
    return BegunUpload(
      id: session.uploads.add(upload), offset: offset, isCandidate: files.hasCandidate(for: upload))
  }

  /// Ends an upload whose content the album has already, before it is sent.
  private func compare(_ upload: Upload, _ id: String, _ hash: [UInt8], _ session: Session)
    async throws -> Response
  {
    let files = UploadFiles(space: session.space)
    if let found = try await work.run({ try files.twin(of: upload, hash: hash) }) {
      try await work.run { try files.cancel(upload) }
      return try await reply(found, id, session)
    }
    var text = JSONText()
    text.object { $0.field("state", "new") }
    return text.response()
  }

  /// Writes a slice as it comes; returns how far the file is then.
  private func receive(
    _ request: Request, _ upload: Upload, at offset: Int64, _ session: Session
  ) async throws -> Int64 {
    let room = min(Int64(Self.sliceSize), upload.size - offset)
    if let length = request.headers[.contentLength].flatMap({ Int64($0) }), length > room {
      throw GalleryError(.large)
    }
    let files = UploadFiles(space: session.space)
    let file = try await work.run { try files.open(upload, at: offset) }
    return try await withStallLimit(Self.slicePatience) { pulse in
      try await fill(file, of: upload, from: offset, atMost: room) { slice in
        for try await part in request.body {
          if session.isLocked { throw GalleryError(.session) }
          pulse.beat(part.readableBytes)
          session.wasUsed()
          try await slice.append(part)
        }
      }
    }
  }

  /// Lets `body` write to a hidden file, and keeps the bytes that have arrived, also where it fails, as where
  /// the connection ended. Returns how far the file is then.
  func fill(
    _ file: FolderFile, of upload: Upload, from offset: Int64, atMost room: Int64,
    _ body: (inout SliceWriter) async throws -> Void
  ) async throws -> Int64 {
    var slice = SliceWriter(file, from: offset, atMost: room, work)
    var failure: (any Error)?
    do { try await body(&slice) } catch { failure = error }
    do { try await slice.finish() } catch { failure = failure ?? error }
    let end = slice.end
    // Where the disk is full, a part of a piece may lie behind.
    upload.proved(end, of: file.entry.file.inode, hasTail: failure != nil)
    // The thread that wrote may close the file only after the client's next slice has come.
    try file.unlock()
    if let failure { throw failure }
    return end
  }

  private func finish(_ upload: Upload, _ id: String, _ session: Session) async throws -> Response {
    let space = session.space
    let finished = try await work.run { try UploadFiles(space: space).finish(upload) }
    return try await reply(finished, id, session)
  }

  /// Says that a file is saved. Nothing is said to be saved that is not on disk.
  private func reply(
    _ finished: UploadFiles.Finished, _ id: String, _ session: Session
  ) async throws -> Response {
    try await session.space.barriers.wait(work)
    session.uploads.remove(id)
    var text = JSONText()
    text.object { finished.write(to: &$0, session) }
    return text.response()
  }
}
