import AlbumModel
import HTTPTypes
import Hummingbird
import NIOCore
import Posix

/// The receiver's side of LocalSend's protocol 2.1, for phones' own apps. While no reception is open, none of
/// these paths exists.
struct LocalSendRoutes: Sendable {
  typealias Context = GalleryContext

  static let prefix = "/api/localsend/v2/"

  let desk: ReceptionDesk
  let work: BlockingBridge

  /// Names and hashes of thousands of files.
  private static let offerLimit = 8 << 20

  func add(to router: Router<Context>) {
    router.get(RouterPath(Self.prefix + "info")) { _, _ in
      await answer { desk.device.info.response() }
    }
    router.post(RouterPath(Self.prefix + "register")) { request, _ in
      await answer {
        // What the other device says of itself is of no use here.
        _ = try await RequestBodies.bytes(request, atMost: 1 << 16)
        return desk.device.info.response()
      }
    }
    router.post(RouterPath(Self.prefix + "prepare-upload")) { request, context in
      await answer { try await prepare(request, context) }
    }
    router.post(RouterPath(Self.prefix + "upload")) { request, context in
      await answer { try await upload(request, context) }
    }
    router.post(RouterPath(Self.prefix + "cancel")) { request, context in
      await answer {
        let id = try Self.query("sessionId", request)
        let (_, transfer) = try desk.transfer(id, from: Self.sender(context))
        transfer.cancel()
        return Response(status: .ok)
      }
    }
  }

  // MARK: Replies

  /// Gives failures the status that the protocol has for them.
  private func answer(_ body: () async throws -> Response) async -> Response {
    do {
      if !desk.isOpen { throw GalleryError(.unknown) }
      return try await body()
    } catch is ReceptionDesk.WrongPIN {
      return Self.response(.unauthorized, "Wrong PIN")
    } catch {
      return Self.response(GalleryError(any: error))
    }
  }

  private static func response(_ error: GalleryError) -> Response {
    let (status, message): (HTTPResponse.Status, String) =
      switch error.code {
      case .unknown: (.notFound, "Nothing is received.")
      case .session, .refused, .origin, .readonly: (.forbidden, "Rejected")
      case .busy: (.conflict, "Blocked by another session")
      case .slow: (.tooManyRequests, "Too many requests")
      case .name, .invalid, .large, .range: (.badRequest, error.detail ?? "Invalid request")
      case .room: (.internalServerError, "The disk is full.")
      // The last ones are those of imports from the web, which no sender asks for.
      case .exists, .link, .damaged, .failed, .address, .local, .unreachable, .missing, .nopicture:
        (.internalServerError, "Not saved")
      }
    return response(status, message)
  }

  private static func response(_ status: HTTPResponse.Status, _ message: String) -> Response {
    var text = JSONText()
    text.object { $0.field("message", message) }
    return text.response(status)
  }

  private static func query(_ name: String, _ request: Request) throws(GalleryError) -> String {
    guard let value = request.query(name), !value.isEmpty else {
      throw GalleryError(.invalid)
    }
    return value
  }

  private static func sender(_ context: Context) throws(GalleryError) -> String {
    guard let address = context.channel.remoteAddress?.ipAddress else {
      throw GalleryError(.failed)
    }
    return address
  }

  // MARK: Offers

  private func prepare(_ request: Request, _ context: Context) async throws -> Response {
    // An app asks without a PIN first, to see whether it needs one.
    guard let pin = request.query("pin"), !pin.isEmpty else {
      return Self.response(.unauthorized, "PIN required")
    }
    let reception = try await context.whileConnected {
      try await desk.reception(pin: pin, from: context.client)
    }
    let offer = try await RequestBodies.json(request, LocalSendOffer.self, atMost: Self.offerLimit)
    let files = try offer.expected()
    if files.isEmpty { return Response(status: .noContent) }
    let transfer = try reception.begin(files, from: try Self.sender(context))
    reception.session.wasUsed(onPage: false)
    var text = JSONText()
    text.object { text in
      text.field("sessionId", transfer.id)
      text.field("files") { text in
        text.object { text in for (id, token) in transfer.tokens { text.field(id, token) } }
      }
    }
    return text.response()
  }

  // MARK: Files

  private func upload(_ request: Request, _ context: Context) async throws -> Response {
    let id = try Self.query("sessionId", request)
    let file = try Self.query("fileId", request)
    let token = try Self.query("token", request)
    let (reception, transfer) = try desk.transfer(id, from: try Self.sender(context))
    let expected = try transfer.begin(file, token)
    do {
      try await receive(request, expected, reception, transfer)
    } catch {
      transfer.end(file, isSaved: false)
      throw error
    }
    transfer.end(file, isSaved: true)
    return Response(status: .ok)
  }

  /// Returns when the file is on disk under its name.
  private func receive(
    _ request: Request, _ expected: LocalSendOffer.Expected, _ reception: Reception,
    _ transfer: Transfer
  ) async throws {
    if let length = request.headers[.contentLength].flatMap({ Int64($0) }), length != expected.size
    {
      throw GalleryError(.invalid, "The file has another size than announced.")
    }
    let space = reception.session.space
    let files = UploadFiles(space: space)
    let (upload, file) = try await work.run {
      let album = try files.album(reception.album, folders: expected.folders)
      let upload = Upload(
        album: album, name: expected.name, size: expected.size,
        modified: expected.modified ?? SystemClock.wall())
      return (upload, try files.open(upload, at: 0))
    }
    do {
      try await write(request, to: file, expected, reception, transfer)
      upload.proved(expected.size, of: file.entry.file.inode)
      if !reception.isOpen || transfer.isCancelled { throw GalleryError(.refused) }
      _ = try await work.run { try files.finish(upload) }
    } catch {
      // After a lock, the file is out of reach; it goes at a later login.
      try? await work.run { try files.cancel(upload) }
      throw error
    }
    try await space.barriers.wait(work)
  }

  private func write(
    _ request: Request, to file: FolderFile, _ expected: LocalSendOffer.Expected,
    _ reception: Reception, _ transfer: Transfer
  ) async throws {
    try await withStallLimit(GalleryRoutes.slicePatience) { [work] pulse in
      var slice = SliceWriter(file, from: 0, atMost: expected.size, work)
      var hash = SHA256()
      for try await part in request.body {
        if !reception.isOpen || transfer.isCancelled { throw GalleryError(.refused) }
        pulse.beat(part.readableBytes)
        reception.session.wasUsed(onPage: false)
        if expected.sha256 != nil { hash.update(Array(part.readableBytesView)) }
        try await slice.append(part)
      }
      try await slice.finish()
      if slice.end != expected.size {
        throw GalleryError(.invalid, "The file has another size than announced.")
      }
      if let wanted = expected.sha256, hash.finish() != wanted {
        throw GalleryError(.invalid, "The file has another SHA-256 than announced.")
      }
    }
  }
}
