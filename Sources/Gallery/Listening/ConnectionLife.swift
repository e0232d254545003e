import NIOCore
import NIOHTTP2
import Posix

/// Closes a connection of HTTP/2 that has no stream for a while, whatever the client says, and one that has
/// too many streams: NIO counts them only when the client has acknowledged the settings. Used on its event
/// loop.
final class ConnectionLife: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  private static let idlePatience = TimeAmount(
    TestHooks.delay(.idleConnection, .seconds(60)))
  /// Clients may assume 100 until they have the settings.
  private static let streamLimit = 128

  private let loop: any EventLoop
  private var context: ChannelHandlerContext?
  private var openStreams = 0
  private var lastStream = HTTP2StreamID.rootStream
  private var end: Scheduled<Void>?

  init(_ loop: any EventLoop) { self.loop = loop }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    closeLater()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end?.cancel()
    self.context = nil
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func closeLater() {
    end?.cancel()
    let life = NIOLoopBound(self, eventLoop: loop)
    end = loop.scheduleTask(in: ConnectionLife.idlePatience) { life.value.close(.noError) }
  }

  /// The message names the last stream that the server took. The client may repeat later ones elsewhere.
  private func close(_ reason: HTTP2ErrorCode) {
    guard let context else { return }
    let goodbye = HTTP2Frame(
      streamID: .rootStream,
      payload: .goAway(lastStreamID: lastStream, errorCode: reason, opaqueData: nil))
    context.writeAndFlush(wrapOutboundOut(goodbye), promise: nil)
    context.close(promise: nil)
  }

  private func opened(_ stream: HTTP2StreamID) {
    openStreams += 1
    lastStream = max(lastStream, stream)
    end?.cancel()
    if openStreams == ConnectionLife.streamLimit + 1 { close(.enhanceYourCalm) }
  }

  private func closed() {
    openStreams -= 1
    if openStreams == 0 { closeLater() }
  }

  var observer: Observer { Observer(life: NIOLoopBound(self, eventLoop: loop)) }

  /// Learns of streams, on the event loop.
  struct Observer: NIOHTTP2StreamDelegate {
    fileprivate let life: NIOLoopBound<ConnectionLife>

    func streamCreated(_ id: HTTP2StreamID, channel: any Channel) { life.value.opened(id) }
    func streamClosed(_ id: HTTP2StreamID, channel: any Channel) { life.value.closed() }
  }
}
