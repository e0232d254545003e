import NIOCore

/// Closes a connection of HTTP/2 whose client does little else than update flow-control windows (RFC 9113,
/// section 6.9): each update costs the server a look, and NIO takes those of finished streams without end.
/// Clients in use send one for some 16 KiB that they got. Used on its event loop, below NIO's handler of
/// HTTP/2.
final class WindowUpdateLimit: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  /// So many updates are free.
  private static let free = 10_000
  /// The server has sent so many bytes for each further one.
  private static let bytesPerUpdate = 1024
  /// What a client sends before its first frame.
  private static let prefaceByteCount = 24
  /// Of a frame: 3 bytes for the length of what follows, and the type.
  private static let headByteCount = 9
  private static let windowUpdate: UInt8 = 8

  /// The bytes up to the next frame.
  private var rest = prefaceByteCount
  /// The begin of a head that has not come as a whole.
  private var head: [UInt8] = []
  private var updates = 0
  private var sent = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    count(unwrapInboundIn(data))
    if updates > WindowUpdateLimit.free + sent / WindowUpdateLimit.bytesPerUpdate {
      return context.close(promise: nil)
    }
    context.fireChannelRead(data)
  }

  private func count(_ buffer: ByteBuffer) {
    var bytes = buffer.readableBytesView
    while !bytes.isEmpty {
      let skipped = min(rest, bytes.count)
      bytes = bytes.dropFirst(skipped)
      rest -= skipped
      let missing = bytes.prefix(WindowUpdateLimit.headByteCount - head.count)
      head += missing
      bytes = bytes.dropFirst(missing.count)
      if head.count < WindowUpdateLimit.headByteCount { continue }
      if head[3] == WindowUpdateLimit.windowUpdate { updates += 1 }
      rest = head[..<3].reduce(0) { $0 << 8 | Int($1) }
      head = []
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    sent += unwrapOutboundIn(data).readableBytes
    context.write(data, promise: promise)
  }
}
