import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// A connection of a browser. Closes one that does not finish its TLS handshake: the number of connections is
/// bounded, so whoever keeps one must say something.
struct PatientChannel: ServerChildChannel {
  let base: HTTP2UpgradeChannel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP2UpgradeChannel.Value> {
    let made = base.setup(channel: channel, logger: logger)
    // The future's value comes later; the handler for TLS is there at once.
    let operations = channel.pipeline.syncOperations
    do {
      let encryption = try operations.handler(type: NIOSSLServerHandler.self)
      try operations.addHandler(HandshakeDeadline(), position: .after(encryption))
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return made
  }

  func handle(value: HTTP2UpgradeChannel.Value, logger: Logger) async {
    await base.handle(value: value, logger: logger)
  }
}

/// Closes the connection after a while unless the handshake is complete.
private final class HandshakeDeadline: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private static let patience = TimeAmount.seconds(15)
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
