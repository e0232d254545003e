internal import CCurl
internal import Glibc

// The only file that calls libcurl, for all programs that speak to servers.

/// One request over HTTP.
package struct WebRequest: Sendable {
  package enum Method: Sendable {
    case get, head, put, delete
  }

  package var url: String
  package var method = Method.get
  /// Lines of the head, `Name: value`.
  package var headers: [String] = []
  /// What is sent, with `put`.
  package var body: [UInt8] = []
  /// The bytes that are wanted: `100-`.
  package var range: String?
  package var followsRedirects = false
  /// A proxy of the environment is used.
  package var usesProxy = true
  /// The longest content that is taken.
  package var limit: Int64
  package var connectSeconds = 30
  /// A server that sends or takes less than a byte a second for so long is slow.
  package var stallSeconds = 60
  /// The value of User-Agent.
  package var program = WebTransfer.libraryName

  package init(url: String, limit: Int64) { (self.url, self.limit) = (url, limit) }
}

/// Why a request has no complete response.
package enum WebFault: Error, Sendable, CaseIterable {
  /// The address cannot be understood, or is not of http or https.
  case address
  /// It redirects too often, or to something else than http and https.
  case redirects
  case unresolved
  case unreachable
  /// The receiver refused the address.
  case refused
  /// The server's certificate, or what it says in TLS, is not to be trusted.
  case certificate
  /// The server sends nothing, or almost nothing.
  case slow
  /// The content is larger than the limit.
  case large
  /// The connection ended before the response did.
  case broken
  case failed
}

/// Takes what a server sends. The calls come on the thread of `WebTransfer.run`.
package protocol WebReceiver: AnyObject {
  /// Takes one line of a response's head. Each response of a chain of redirects begins anew.
  func take(line: [UInt8])
  /// Takes content. Returns false to end the transfer.
  func take(content: [UInt8]) -> Bool
  /// Decides on an address, before each connection: 4 or 16 bytes; nil for other families.
  func allows(_ address: [UInt8]?) -> Bool
}

extension WebReceiver {
  package func allows(_ address: [UInt8]?) -> Bool { true }
}

/// Transfers by libcurl, one after the other. Keeps the connection for the next one. For one thread.
@safe
package final class WebTransfer {
  private let handle: UnsafeMutableRawPointer
  fileprivate var receiver: (any WebReceiver)?
  /// True if the receiver refused the last address that libcurl wanted to connect to.
  private var wasRefused = false
  private var hasConnected = false
  /// True if the server may have got the last request twice: libcurl sends it again by itself where a kept
  /// connection turns out to be dead.
  package private(set) var mayBeRepeated = false

  private static let redirects = 10
  private static let bufferSize = 256 << 10

  /// Starts libcurl, once in a process.
  package static func start() -> Bool { ccurl_start() != 0 }

  /// nil if libcurl has no memory.
  package init?() {
    guard let handle = unsafe curl_easy_init() else { return nil }
    unsafe self.handle = unsafe handle
  }

  deinit { unsafe curl_easy_cleanup(handle) }

  /// Returns why the response is not complete; nil if it is, whatever its status.
  package func run(_ request: WebRequest, _ receiver: any WebReceiver) -> WebFault? {
    self.receiver = receiver
    wasRefused = false
    defer { self.receiver = nil }
    unsafe curl_easy_reset(handle)
    var list: UnsafeMutablePointer<curl_slist>?
    for line in request.headers { unsafe list = curl_slist_append(list, line) }
    defer { unsafe curl_slist_free_all(list) }
    let result = unsafe request.body.withUnsafeBytes { body -> CURLcode? in
      unsafe setUp(request, list, body) ? curl_easy_perform(handle) : nil
    }
    guard let result else { return .failed }
    let connections = unsafe ccurl_number(handle, CURLINFO_NUM_CONNECTS)
    mayBeRepeated = hasConnected && connections > 0
    hasConnected = hasConnected || result == CURLE_OK
    return result == CURLE_OK ? nil : fault(of: result)
  }

  // MARK: The request

  private func setUp(
    _ request: WebRequest, _ list: UnsafeMutablePointer<curl_slist>?, _ body: UnsafeRawBufferPointer
  ) -> Bool {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    var good = unsafe ccurl_receive(handle, takeContent, takeLine, context) != 0
    good = unsafe ccurl_open_sockets(handle, openSocket, context) != 0 && good
    good = unsafe ccurl_set_list(handle, CURLOPT_HTTPHEADER, list) != 0 && good
    if request.method == .put {
      good = unsafe ccurl_set_body(handle, body.baseAddress, Int(body.count)) != 0 && good
    }
    for (option, value) in texts(request) {
      good = unsafe ccurl_set_text(handle, option, value) != 0 && good
    }
    for (option, value) in numbers(request) {
      good = unsafe ccurl_set_number(handle, option, value) != 0 && good
    }
    // libcurl keeps the buffer of a transfer that could not begin, and then refuses another size.
    _ = unsafe ccurl_set_number(handle, CURLOPT_BUFFERSIZE, WebTransfer.bufferSize)
    return unsafe ccurl_set_large(handle, CURLOPT_MAXFILESIZE_LARGE, Int(request.limit)) != 0
      && good
  }

  private func texts(_ request: WebRequest) -> [(CURLoption, String)] {
    var texts = [
      (CURLOPT_URL, request.url),
      (CURLOPT_PROTOCOLS_STR, "http,https"), (CURLOPT_REDIR_PROTOCOLS_STR, "http,https"),
      (CURLOPT_USERAGENT, request.program),
    ]
    if !request.usesProxy { texts.append((CURLOPT_PROXY, "")) }
    if let range = request.range { texts.append((CURLOPT_RANGE, range)) }
    switch request.method {
    case .get, .head: break
    case .put: texts.append((CURLOPT_CUSTOMREQUEST, "PUT"))
    case .delete: texts.append((CURLOPT_CUSTOMREQUEST, "DELETE"))
    }
    return texts
  }

  private func numbers(_ request: WebRequest) -> [(CURLoption, Int)] {
    [
      (CURLOPT_FOLLOWLOCATION, request.followsRedirects ? 1 : 0),
      (CURLOPT_MAXREDIRS, WebTransfer.redirects), (CURLOPT_NOBODY, request.method == .head ? 1 : 0),
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_HTTP09_ALLOWED, 0), (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
      (CURLOPT_CONNECTTIMEOUT, request.connectSeconds), (CURLOPT_LOW_SPEED_LIMIT, 1),
      (CURLOPT_LOW_SPEED_TIME, request.stallSeconds), (CURLOPT_FILETIME, 1),
    ]
  }

  /// Some servers refuse programs without a name. This one does not tell that albumfs asks: `curl/` and the
  /// version of libcurl.
  package static var libraryName: String {
    // `libcurl/7.88.1 OpenSSL/3.0.17 …`
    let text = unsafe String(cString: curl_version())
    return String(text.prefix { $0 != " " }.dropFirst(3))
  }

  // MARK: The response

  /// The status of HTTP; 0 before there is one.
  package var status: Int { unsafe ccurl_number(handle, CURLINFO_RESPONSE_CODE) }

  /// nil if the server does not state it.
  package var contentLength: Int64? {
    let length = unsafe ccurl_large(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    return length >= 0 ? Int64(length) : nil
  }

  /// The time of the last change, in seconds since 1970; nil if the server does not state it.
  package var modified: Int64? {
    let modified = unsafe ccurl_large(handle, CURLINFO_FILETIME_T)
    return modified > 0 && modified < 1 << 40 ? Int64(modified) : nil
  }

  /// The address at the end of all redirects.
  package var place: [UInt8] {
    let place = unsafe ccurl_text(handle, CURLINFO_EFFECTIVE_URL)
    return unsafe place.map { unsafe Array(String(cString: $0).utf8) } ?? []
  }

  /// The seconds since 1970 of a date as HTTP has it; nil if it is none.
  package static func seconds(ofDate text: String) -> Int64? {
    let time = unsafe curl_getdate(text, nil)
    return time >= 0 ? Int64(time) : nil
  }

  /// Opens the socket for a connection, if the receiver allows the address. libcurl asks for each address,
  /// also after a redirect, so no name can lead elsewhere meanwhile.
  fileprivate func open(_ address: curl_sockaddr, _ bytes: [UInt8]?) -> CInt {
    wasRefused = receiver?.allows(bytes) == false
    if wasRefused { return -1 }
    let closing = CInt(SOCK_CLOEXEC.rawValue)
    return socket(address.family, address.socktype | closing, address.protocol)
  }

  private func fault(of result: CURLcode) -> WebFault {
    switch result {
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
      let hasRedirected = unsafe ccurl_number(handle, CURLINFO_REDIRECT_COUNT) > 0
      return hasRedirected ? .redirects : .address
    case CURLE_TOO_MANY_REDIRECTS: return .redirects
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .unresolved
    case CURLE_COULDNT_CONNECT: return wasRefused ? .refused : .unreachable
    case CURLE_OPERATION_TIMEDOUT: return .slow
    case CURLE_FILESIZE_EXCEEDED: return .large
    case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2,
      CURLE_HTTP2_STREAM:
      return .broken
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CACERT_BADFILE:
      return .certificate
    default: return .failed
    }
  }
}

// MARK: libcurl's callbacks

private func takeContent(
  _ bytes: UnsafeMutablePointer<CChar>?, _ one: Int, _ length: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let isWanted = unsafe owner(context).receiver?.take(content: array(bytes, length)) ?? false
  return isWanted ? length : 0
}

private func takeLine(
  _ bytes: UnsafeMutablePointer<CChar>?, _ one: Int, _ length: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  unsafe owner(context).receiver?.take(line: array(bytes, length))
  return length
}

private func openSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> CInt {
  guard let address = unsafe address else { return -1 }
  return unsafe owner(context).open(address.pointee, number(of: address))
}

private func owner(_ context: UnsafeMutableRawPointer?) -> WebTransfer {
  unsafe Unmanaged<WebTransfer>.fromOpaque(context!).takeUnretainedValue()
}

private func array(_ bytes: UnsafeMutablePointer<CChar>?, _ length: Int) -> [UInt8] {
  unsafe Array(UnsafeRawBufferPointer(start: bytes, count: length))
}

/// The 4 or 16 bytes of the address; nil for other families.
private func number(of address: UnsafeMutablePointer<curl_sockaddr>) -> [UInt8]? {
  // The address lies in the field `addr`, with as many bytes as its family has.
  let offset = MemoryLayout<curl_sockaddr>.offset(of: \curl_sockaddr.addr)!
  let start = unsafe UnsafeRawPointer(address) + offset
  switch unsafe address.pointee.family {
  case AF_INET:
    let address = unsafe start.loadUnaligned(as: sockaddr_in.self).sin_addr
    return unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
  case AF_INET6:
    let address = unsafe start.loadUnaligned(as: sockaddr_in6.self).sin6_addr
    return unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
  default: return nil
  }
}
