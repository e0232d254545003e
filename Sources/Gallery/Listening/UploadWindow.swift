import NIOCore
import NIOHTTP2

/// Widens the flow-control window of a stream of HTTP/2 when it is asked to.
///
/// A client may fill the window of each of its streams before the server has even looked at them, so all
/// begin with NIO's 64 KiB. That is too little for an upload over Wi-Fi, where a reply takes some
/// milliseconds. A route asks for more when it knows the session and the upload.
final class UploadWindow: ChannelDuplexHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias InboundOut = HTTP2Frame.FramePayload
  typealias OutboundIn = HTTP2Frame.FramePayload
  typealias OutboundOut = HTTP2Frame.FramePayload

  /// The event that asks for a wide window. Connections of HTTP/1.1 have none, and ignore it.
  private struct Widen {}
  /// NIO lets a client send so many bytes that the server has not delivered to the route yet.
  private static let usual = 65_535
  /// A wide window lets the client send so many bytes more.
  private static let extra = 1 << 20
  /// The server widens the window again after it has delivered so many bytes.
  private static let step = 256 << 10

  private var isWide = false
  private var isDue = false
  /// The bytes of the body that the server has not delivered yet. Not above 0 if the client announced no
  /// length.
  private var rest = 0
  /// The bytes that the server has delivered since it last widened the window.
  private var taken = 0

  static func widen(_ channel: any Channel) {
    channel.triggerUserOutboundEvent(Widen(), promise: nil)
  }

  func triggerUserOutboundEvent(
    context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
  ) {
    guard event is Widen else {
      return context.triggerUserOutboundEvent(event, promise: promise)
    }
    promise?.succeed()
    if isWide || rest <= UploadWindow.usual || !context.channel.isActive { return }
    isWide = true
    taken = 0
    allow(UploadWindow.extra, context)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let part):
      rest = part.headers.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
    case .data(let part):
      rest -= part.data.readableBytes
      taken += part.data.readableBytes
    default: break
    }
    context.fireChannelRead(data)
    if !isWide || taken < UploadWindow.step || isDue { return }
    isDue = true
    // The client may have ended the stream: NIO delivers the rest of the body before it says so.
    context.eventLoop.assumeIsolated().execute { self.allowMore(context) }
  }

  /// A window update after the last byte would be an error of the connection. So none is sent when the
  /// windows are wide enough for the rest.
  private func allowMore(_ context: ChannelHandlerContext) {
    isDue = false
    if !context.channel.isActive || rest <= UploadWindow.usual + UploadWindow.extra { return }
    allow(taken, context)
    taken = 0
  }

  private func allow(_ more: Int, _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(.windowUpdate(windowSizeIncrement: more)), promise: nil)
  }
}
