import AlbumModel
import FoundationEssentials
import HTTPTypes
import Hummingbird

extension GalleryRoutes {
  private struct Login: Decodable {
    var password: String
  }

  func addSession(to router: Router<Context>) {
    router.post("/api/login") { request, context in
      // A client that sends half a body tries no password. A whole body that holds none is a wrong one.
      let bytes = try await RequestBodies.bytes(request, atMost: 1 << 16)
      let body = try? JSONDecoder().decode(Login.self, from: Data(bytes))
      let found = try await context.whileConnected {
        try await sessions.login(body?.password ?? "", from: context.client)
      }
      var response = try await files.run { describe(found.session) }
      response.headers[.setCookie] = SessionTable.cookie(found.cookie)
      return response
    }
    router.get("/api/session") { request, _ in
      let session = try sessions.session(request)
      return try await files.run { describe(session) }
    }
    router.post("/api/lock") { request, _ in
      await sessions.lock(try sessions.session(request))
      var response = JSONText.empty
      response.headers[.setCookie] = SessionTable.cookie("") + "; Max-Age=0"
      return response
    }
    router.post("/api/alive") { request, _ in
      try sessions.session(request, counts: false).isOpen()
      return JSONText.empty
    }
  }

  private func describe(_ session: Session) -> Response {
    var text = JSONText()
    text.object { text in
      text.field("readOnly", session.space.isReadOnly)
      text.field("idleSeconds", idle.milliseconds / 1000)
      text.field("thumbnailSize", Int64(session.space.mount.thumbnailEdge))
      text.field("maximumUpload", Upload.maximumSize)
      text.field("sliceSize", Int64(GalleryRoutes.sliceSize))
      text.field("batch") { text in
        text.object { text in
          text.field("files", Int64(GalleryRoutes.batch.files))
          text.field("bytes", GalleryRoutes.batch.bytes)
        }
      }
      text.field("imports", fetchProgram != nil)
      text.field("space", session.space.mark)
    }
    return text.response()
  }
}
