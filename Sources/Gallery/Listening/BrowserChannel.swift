import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP2
import NIOSSL
import Posix

/// A connection of a browser or of a phone's app: TLS, and then HTTP/2 or HTTP/1.1, as the two agree.
///
/// Hummingbird's own channel for HTTP/2 has the flow-control windows of NIO's defaults, by which an upload
/// waits for the network after each 64 KiB, and keeps a client that never acknowledges the end of its
/// connection.
struct BrowserChannel: ServerChildChannel {
  typealias Stream = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>
  typealias Connection = NIOHTTP2Handler.AsyncStreamMultiplexer<Stream>

  struct Value: ServerChildChannelValue {
    let agreed: EventLoopFuture<NIONegotiatedHTTPVersion<Stream, Connection>>
    let channel: any Channel
  }

  private let encryption: NIOSSLContext
  private let http1: HTTP1Channel
  private let streamIdle: Duration
  private let shares: ConnectionShares

  /// A stream or a connection of HTTP/1.1 that has no request for so long ends.
  private static let streamIdle = TimeAmount(
    TestHooks.delay(.idleConnection, .seconds(60)))

  init(
    _ tls: TLSConfiguration, shares: ConnectionShares,
    responder: @escaping HTTPChannelHandler.Responder
  ) throws {
    self.shares = shares
    var tls = tls
    tls.applicationProtocols = NIOHTTP2SupportedALPNProtocols
    encryption = try NIOSSLContext(configuration: tls)
    streamIdle = Duration(BrowserChannel.streamIdle)
    http1 = HTTP1Channel(
      responder: { request, writer, channel in
        // Some clients send a body only after this, or after a second of waiting for it.
        if request.headers[.expect]?.lowercased() == "100-continue" {
          try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
        try await responder(request, writer, channel)
      },
      configuration: HTTP1Channel.Configuration(
        idleTimeout: BrowserChannel.streamIdle,
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: 16 << 10, maxHeaderListSize: 32 << 10, maxHeaderFieldCount: 100)))
  }

  /// Closes the connection where it fails: NIO leaves one open whose setup did.
  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    let value = prepare(channel, logger)
    value.whenFailure { _ in channel.close(promise: nil) }
    return value
  }

  private func prepare(_ channel: any Channel, _ logger: Logger) -> EventLoopFuture<Value> {
    if !shares.take(channel) { return channel.eventLoop.makeFailedFuture(ChannelError.eof) }
    do {
      // TLS says when it ends. A client that ends TCP alone is gone.
      try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
      let operations = channel.pipeline.syncOperations
      try operations.addHandler(NIOSSLServerHandler(context: encryption))
      try operations.addHandler(HandshakeDeadline())
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return channel.configureHTTP2AsyncSecureUpgrade { channel in
      http1.setup(channel: channel, logger: logger)
    } http2ConnectionInitializer: { channel in
      channel.eventLoop.makeCompletedFuture { try connection(on: channel, logger) }
    }
    .map { Value(agreed: $0, channel: channel) }
  }

  private func connection(on channel: any Channel, _ logger: Logger) throws -> Connection {
    let life = ConnectionLife(channel.eventLoop)
    let operations = channel.pipeline.syncOperations
    try operations.addHandler(WindowUpdateLimit())
    let connection: Connection = try operations.configureAsyncHTTP2Pipeline(
      mode: .server, streamDelegate: life.observer, configuration: BrowserChannel.limits
    ) { stream in
      stream.eventLoop.makeCompletedFuture { try self.stream(on: stream, logger) }
    }
    try operations.addHandler(life)
    return connection
  }

  /// The window of a connection only limits what is on its way: NIO widens it again as bytes arrive. What a
  /// client can make the server hold are the windows of its streams, which `UploadWindow` widens for uploads
  /// alone.
  private static var limits: NIOHTTP2Handler.Configuration {
    var limits = NIOHTTP2Handler.Configuration()
    limits.connection.targetWindowSize = 4 << 20
    limits.connection.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: 64),
      HTTP2Setting(parameter: .maxHeaderListSize, value: 16 << 10),
    ]
    return limits
  }

  private func stream(on channel: any Channel, _ logger: Logger) throws -> Stream {
    let operations = channel.pipeline.syncOperations
    try operations.addHandler(UploadWindow())
    try operations.addHandler(HTTP2FramePayloadToHTTPServerCodec())
    try operations.addHandler(HTTPConnectionStateHandler(idleTimeout: streamIdle, logger: logger))
    return try Stream(
      wrappingChannelSynchronously: channel,
      configuration: .init(isOutboundHalfClosureEnabled: true))
  }

  func handle(value: Value, logger: Logger) async {
    do {
      switch try await value.agreed.get() {
      case .http1_1(let stream): await http1.handle(value: stream, logger: logger)
      case .http2(let connection):
        try await withThrowingDiscardingTaskGroup { group in
          for try await stream in connection.inbound {
            group.addTask { await http1.handle(value: stream, logger: logger) }
          }
        }
      }
    } catch {
      // The client went away, or speaks something else.
    }
    value.channel.close(promise: nil)
  }
}
