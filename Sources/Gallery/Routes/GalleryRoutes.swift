import HTTPTypes
import Hummingbird
import NIOCore

/// All requests that the page makes, as Interface.md lists them.
struct GalleryRoutes: Sendable {
  typealias Context = GalleryContext

  let sessions: SessionTable
  let desk: ReceptionDesk
  let address: GalleryAddress
  let names: ServerNames
  let idle: Duration
  /// Short file calls, for which a user waits.
  let files: BlockingBridge
  /// Long ones: copies, comparisons, barriers.
  let work: BlockingBridge
  /// Waits for the decoder.
  let previews: BlockingBridge
  /// Waits for servers in the web.
  let web: BlockingBridge
  /// The path of albumfs-fetch; nil where it is not installed.
  let fetchProgram: String?

  func router() -> Router<Context> {
    let router = Router(context: Context.self, options: .autoGenerateHeadEndpoints)
    router.addMiddleware { RequestRules(names: names) }
    for file in PageFiles.all {
      router.get(RouterPath(file.path)) { _, _ in PageFiles.response(file) }
    }
    addSession(to: router)
    addAlbums(to: router)
    addPhotos(to: router)
    addDeleted(to: router)
    addDuplicates(to: router)
    addPlaces(to: router)
    addNotes(to: router)
    addContent(to: router)
    addChanges(to: router)
    addJobs(to: router)
    addImports(to: router)
    addUploads(to: router)
    addBatches(to: router)
    addReceptions(to: router)
    LocalSendRoutes(desk: desk, work: work).add(to: router)
    return router
  }

  static func parameter(_ name: String, _ context: Context) throws(GalleryError) -> String {
    guard let value = context.parameters.get(name) else { throw GalleryError(.unknown) }
    return value
  }
}

/// Hummingbird's record of a request, and the connection that it came on.
struct GalleryContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// With HTTP/2, the stream of this request alone.
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  var client: Client { Client(channel.remoteAddress) }

  /// Runs `body`, and cancels it when the client goes away.
  func whileConnected<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let task = Task { try await body() }
    channel.closeFuture.whenComplete { _ in task.cancel() }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
