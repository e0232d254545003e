import Fetching
import HTTPTypes
import Hummingbird

extension GalleryRoutes {
  private struct WebOrder: Decodable {
    var album: String
    var urls: [String]
  }

  /// Addresses in one request.
  private static let urlLimit = 1000
  /// Room for so many of the longest ones.
  private static let webOrderLimit = 10 << 20

  func addImports(to router: Router<Context>) {
    router.post("/api/imports") { request, _ in
      let session = try sessions.session(request)
      let order = try await RequestBodies.json(request, WebOrder.self, atMost: Self.webOrderLimit)
      return Self.reply(try load(order, session))
    }
  }

  private func load(_ order: WebOrder, _ session: Session) throws -> Job {
    try session.space.requireWritable()
    let album = try session.album(order.album)
    guard let program = fetchProgram else {
      throw GalleryError(.failed, "albumfs-fetch is not installed.")
    }
    if order.urls.isEmpty || order.urls.count > Self.urlLimit { throw GalleryError(.invalid) }
    var seen: Set<RemoteURL> = []
    let urls = try order.urls.map { text throws(GalleryError) in
      guard let url = RemoteURL(text) else {
        throw GalleryError(.address, String(text.prefix(200)))
      }
      return url
    }.filter { seen.insert($0).inserted }
    let job = Job(.load, total: urls.count)
    try session.jobs.addLoading(job)
    WebImport(session, job, program: program, web: web, work: work).run(urls, to: album.found.inode)
    return job
  }
}
