import NIOCore
import NIOTLS
import Posix

/// Closes a connection that does not finish its TLS handshake: the number of connections is bounded, so
/// whoever keeps one must say something.
final class HandshakeDeadline: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private static let patience = TimeAmount(TestHooks.delay(.handshake, .seconds(15)))
  private var end: Scheduled<Void>?

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    end = context.eventLoop.scheduleTask(in: HandshakeDeadline.patience) {
      channel.close(promise: nil)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted = event { end?.cancel() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    end?.cancel()
    context.fireChannelInactive()
  }
}
