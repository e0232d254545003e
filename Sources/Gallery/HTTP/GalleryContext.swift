import Hummingbird
import NIOCore

/// Hummingbird's record of a request, and the connection that it came on.
struct GalleryContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// With HTTP/2, the stream of this request alone.
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}
