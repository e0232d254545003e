import HTTPTypes
import Hummingbird

extension GalleryRoutes {
  private struct ReceptionOrder: Decodable {
    var album: String
  }

  /// What the page of the one who receives asks.
  func addReceptions(to router: Router<Context>) {
    router.post("/api/receptions") { request, _ in
      let session = try sessions.session(request)
      let order = try await RequestBodies.json(request, ReceptionOrder.self)
      let album = try session.album(order.album).found.inode
      return describe(try await desk.open(session, album: album))
    }
    router.get("/api/receptions/:id") { request, context in
      let session = try sessions.session(request, counts: false)
      let reception = try desk.reception(try Self.parameter("id", context), of: session)
      reception.isWatched()
      return progress(of: reception)
    }
    router.post("/api/receptions/:id/close") { request, context in
      let session = try sessions.session(request)
      try desk.reception(try Self.parameter("id", context), of: session).close()
      await desk.closeDue()
      return JSONText.empty
    }
  }

  private func describe(_ reception: Reception) -> Response {
    var text = JSONText()
    text.object { text in
      text.field("reception", reception.id)
      text.field("pin", reception.pin)
      text.field("device", LocalSendDevice.alias)
      text.field("address", address.isLoopback ? nil : address.host)
      text.field("port", Int64(desk.device.port))
      text.field("fingerprint", desk.device.fingerprint)
    }
    return text.response()
  }

  private func progress(of reception: Reception) -> Response {
    let progress = reception.progress
    var text = JSONText()
    text.object { text in
      text.field("state", reception.end?.rawValue ?? "open")
      text.field("done", Int64(progress.done))
      text.field("total", Int64(progress.total))
      text.field("saved", Int64(progress.saved))
      text.field("failed", Int64(progress.failed))
    }
    return text.response()
  }
}
