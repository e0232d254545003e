import HTTPTypes
import Hummingbird
import NIOCore

/// The rules that hold for every request and every response, whatever the route.
struct RequestRules: RouterMiddleware {
  typealias Context = GalleryContext

  let names: ServerNames

  private static var policy: String {
    """
    default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; media-src 'self' blob:; \
    connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'
    """
  }

  func handle(
    _ request: Request, context: Context,
    next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do {
      try check(request, at: context.channel.localAddress)
      response = try await next(request, context)
    } catch {
      response = GalleryError(any: error).response
    }
    response.headers[.cacheControl] = "no-store"
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[.contentSecurityPolicy] = RequestRules.policy
    response.headers[HTTPField.Name("Referrer-Policy")!] = "same-origin"
    response.headers[HTTPField.Name("Cross-Origin-Opener-Policy")!] = "same-origin"
    response.headers[HTTPField.Name("Cross-Origin-Resource-Policy")!] = "same-origin"
    return response
  }

  /// A page elsewhere can send neither the server's own origin nor the header.
  private func check(_ request: Request, at local: SocketAddress?) throws {
    let path = request.uri.path
    // RFC 9112, 3.2.
    guard let own = request.head.authority else { throw GalleryError(.invalid) }
    if !names.contains(own, at: local) {
      var error = GalleryError(
        .origin, "The gallery does not go by this name. Use the address that its terminal shows.")
      error.status = .misdirectedRequest
      throw error
    }
    if path.hasPrefix(LocalSendRoutes.prefix) {
      // Apps have no origin. Whatever a page elsewhere sends has one.
      if request.headers[.origin] != nil { throw GalleryError(.origin) }
      return
    }
    let isReading = request.method == .get || request.method == .head
    if !isReading {
      if request.headers[.origin] != "https://\(own)" { throw GalleryError(.origin) }
    }
    guard path.hasPrefix("/api/") else { return }
    // The browser sends these by itself, without our header. If another site made it, it sends no cookie.
    let isByBrowser =
      path.hasPrefix("/api/video/") || path.hasPrefix("/api/live/")
      || path.hasPrefix("/api/downloads/")
    if !(isReading && isByBrowser), request.headers[HTTPField.Name("X-Albumfs")!] != "1" {
      throw GalleryError(.origin)
    }
  }
}
