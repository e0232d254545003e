import HTTPTypes
import Hummingbird
import Posix

extension GalleryRoutes {
  private static let patience = TestHooks.delay(.changes, .seconds(25))

  func addChanges(to router: Router<Context>) {
    router.get("/api/changes") { request, _ in
      let session = try sessions.session(request, counts: false)
      guard let since = request.query("since").flatMap({ UInt64($0) }) else {
        throw GalleryError(.invalid)
      }
      let end = MonotonicTime.now + Self.patience
      while MonotonicTime.now < end {
        if session.isLocked { throw GalleryError(.session) }
        if let found = session.space.index.changes(since: since) {
          return reply(found.revision, found.albums, found.photosIn.map(session.id))
        }
        try await Task.sleep(for: .milliseconds(150))
      }
      return reply(since, false, [])
    }
  }

  private func reply(_ revision: UInt64, _ albums: Bool, _ ids: [String]) -> Response {
    var text = JSONText()
    text.object { text in
      text.field("revision", Int64(revision))
      text.field("albums", albums)
      text.field("in", each: ids) { $0.value($1) }
    }
    return text.response()
  }
}
