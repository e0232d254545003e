import HTTPTypes
import Hummingbird

/// The rules that hold for every request and every response, whatever the route.
struct RequestRules<Context: RequestContext>: RouterMiddleware {
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
      try RequestRules.check(request)
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
  private static func check(_ request: Request) throws {
    let path = request.uri.path
    // RFC 9112, 3.2.
    if request.head.authority == nil { throw GalleryError(.invalid) }
    if path.hasPrefix(LocalSendRoutes.prefix) {
      // Apps have no origin. Whatever a page elsewhere sends has one.
      if request.headers[.origin] != nil { throw GalleryError(.origin) }
      return
    }
    let isReading = request.method == .get || request.method == .head
    if !isReading {
      guard let own = request.head.authority, request.headers[.origin] == "https://\(own)" else {
        throw GalleryError(.origin)
      }
    }
    guard path.hasPrefix("/api/") else { return }
    // The browser sends these by itself, without our header. If another site made it, it sends no cookie.
    let isByBrowser = path.hasPrefix("/api/video/") || path.hasPrefix("/api/downloads/")
    if !(isReading && isByBrowser), request.headers[HTTPField.Name("X-Albumfs")!] != "1" {
      throw GalleryError(.origin)
    }
  }
}
