import NetworkCell
import ObjectStores

/// Sends requests to the server, one after the other. For one thread.
final class Exchange: WebReceiver {
  private let web: WebTransfer
  private var server: RemoteServer?
  private var credentials: S3Credentials?
  private var reply = RemoteReply()
  private var content: [UInt8] = []

  /// nil if libcurl has no memory.
  init?() {
    guard let web = WebTransfer() else { return nil }
    self.web = web
  }

  /// Returns the reply and the content that came.
  func run(_ request: RemoteRequest, _ body: [UInt8]) -> (RemoteReply, [UInt8]) {
    (reply, content) = (RemoteReply(), [])
    if case .begin(let server, let credentials) = request.command {
      (self.server, self.credentials) = (server, credentials)
      return (reply, [])
    }
    guard let server, let credentials else {
      reply.fault = .failed
      return (reply, [])
    }
    let call = S3Call(request.command, server)
    let signature = S3Signature(credentials, region: server.region, seconds: request.time)
    let fault = web.run(
      webRequest(call, server, signature.headers(of: call), body), self)
    (reply.status, reply.mayBeRepeated) = (web.status, web.mayBeRepeated)
    if let fault {
      reply = RemoteReply()
      reply.fault = RemoteFault(fault)
      return (reply, [])
    }
    let content = interpreted(request.command)
    return (reply, content)
  }

  private func webRequest(
    _ call: S3Call, _ server: RemoteServer, _ headers: [S3Header], _ body: [UInt8]
  ) -> WebRequest {
    var web = WebRequest(url: call.url(server.endpoint), limit: Int64(RemoteFrame.bodyLimit))
    (web.connectSeconds, web.stallSeconds) = (server.stallSeconds, server.stallSeconds)
    web.method =
      switch call.method {
      case "PUT": .put
      case "HEAD": .head
      case "DELETE": .delete
      default: .get
      }
    web.body = body
    // libcurl states the host itself. It would wait for a word of the server before it sends a large body.
    web.headers =
      headers.filter { $0.name != "host" }.map { "\($0.name): \($0.value)" } + ["Expect:"]
    return web
  }

  /// The content for the caller. What the server says in XML goes into the reply.
  private func interpreted(_ command: RemoteCommand) -> [UInt8] {
    let isGood = 200...299 ~= reply.status
    if !isGood {
      reply.code = S3Response.errorCode(content)
      return []
    }
    switch command {
    case .load: return content
    case .list:
      reply.page = S3Response.page(content)
      reply.prefix = S3Response.prefix(content)
      return []
    default: return []
    }
  }

  func take(line: [UInt8]) { reply.take(line: line) { WebTransfer.seconds(ofDate: $0) } }

  func take(content bytes: [UInt8]) -> Bool {
    content += bytes
    return content.count <= RemoteFrame.bodyLimit
  }
}

extension RemoteFault {
  fileprivate init(_ fault: WebFault) {
    self =
      switch fault {
      case .address, .redirects, .refused: .address
      case .unresolved: .unresolved
      case .unreachable: .unreachable
      case .certificate: .certificate
      case .slow: .slow
      case .large: .large
      case .broken: .broken
      case .failed: .failed
      }
  }
}
