import CCurl
import Fetching
import Glibc

/// One transfer by libcurl. For one thread.
@safe
final class Transfer {
  private let request: FetchRequest
  private let addresses: PublicAddress
  private var head = ResponseHead()
  private var hasSentHead = false
  /// The offset behind the last byte that was passed on.
  private var end: Int64 = 0
  /// Why this program itself ended the transfer.
  private var problem: FetchProblem?
  /// True if the last address that libcurl wanted to connect to was refused.
  private var wasRefused = false
  private var handle: UnsafeMutableRawPointer?

  private static let connectSeconds = 30
  /// A server that sends less than a byte a second for so long is slow.
  private static let patienceSeconds = 60
  private static let redirects = 10

  init(_ request: FetchRequest, _ addresses: PublicAddress) {
    self.request = request
    self.addresses = addresses
  }

  static func start() -> Bool { ccurl_start() != 0 }

  /// Returns why not everything came; nil if it did.
  func run() -> FetchProblem? {
    guard let handle = unsafe curl_easy_init() else { return FetchProblem(.failed) }
    defer { unsafe curl_easy_cleanup(handle) }
    unsafe self.handle = unsafe handle
    guard setUp() else { return FetchProblem(.failed) }
    let result = unsafe curl_easy_perform(handle)
    if let problem { return problem }
    if result == CURLE_OK {
      // A file without content.
      return hasSentHead ? nil : sendHead()
    }
    return FetchProblem(fault(of: result))
  }

  private func setUp() -> Bool {
    guard let handle = unsafe handle else { return false }
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    var good = unsafe ccurl_receive(handle, takeContent, takeLine, context) != 0
    good = unsafe ccurl_open_sockets(handle, openSocket, context) != 0 && good
    for (option, value) in texts {
      good = unsafe ccurl_set_text(handle, option, value) != 0 && good
    }
    for (option, value) in numbers {
      good = unsafe ccurl_set_number(handle, option, value) != 0 && good
    }
    good =
      unsafe ccurl_set_large(handle, CURLOPT_MAXFILESIZE_LARGE, Int(request.limit)) != 0 && good
    if request.offset > 0, let validator = request.validator {
      // libcurl's own way to resume fails where the server sends everything anew.
      good = unsafe ccurl_set_text(handle, CURLOPT_RANGE, "\(request.offset)-") != 0 && good
      let headers = unsafe curl_slist_append(nil, "If-Range: \(validator)")
      good = unsafe ccurl_set_list(handle, CURLOPT_HTTPHEADER, headers) != 0 && good
    }
    return good
  }

  private var texts: [(CURLoption, String)] {
    var texts = [
      (CURLOPT_URL, request.url.text),
      (CURLOPT_PROTOCOLS_STR, "http,https"), (CURLOPT_REDIR_PROTOCOLS_STR, "http,https"),
      // Some servers refuse programs without a name. This one does not tell that albumfs asks.
      (CURLOPT_USERAGENT, Transfer.name),
    ]
    // A proxy would connect to addresses that are refused here.
    if request.isPublicOnly { texts.append((CURLOPT_PROXY, "")) }
    return texts
  }

  private var numbers: [(CURLoption, Int)] {
    [
      (CURLOPT_FOLLOWLOCATION, 1), (CURLOPT_MAXREDIRS, Transfer.redirects),
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_HTTP09_ALLOWED, 0), (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
      (CURLOPT_CONNECTTIMEOUT, Transfer.connectSeconds), (CURLOPT_LOW_SPEED_LIMIT, 1),
      (CURLOPT_LOW_SPEED_TIME, Transfer.patienceSeconds), (CURLOPT_FILETIME, 1),
      (CURLOPT_BUFFERSIZE, FetchReply.dataLimit),
    ]
  }

  /// `curl/` and the version of libcurl.
  private static var name: String {
    // `libcurl/7.88.1 OpenSSL/3.0.17 …`
    let text = unsafe String(cString: curl_version())
    return String(text.prefix { $0 != " " }.dropFirst(3))
  }

  // MARK: What comes

  /// Passes content on. Returns false to end the transfer.
  fileprivate func take(_ bytes: [UInt8]) -> Bool {
    if !hasSentHead {
      problem = sendHead()
      if problem != nil { return false }
    }
    for start in stride(from: 0, to: bytes.count, by: FetchReply.dataLimit) {
      let piece = Array(bytes[start..<min(start + FetchReply.dataLimit, bytes.count)])
      end += Int64(piece.count)
      if end > request.limit {
        problem = FetchProblem(.large)
        return false
      }
      if !Conversation.send(.data(piece)) {
        problem = FetchProblem(.failed)
        return false
      }
    }
    return true
  }

  /// Takes one line of a response's head. Each response of a chain of redirects begins anew.
  fileprivate func take(line: [UInt8]) { head.add(line) }

  /// Tells the caller what comes; returns why nothing does.
  private func sendHead() -> FetchProblem? {
    guard let handle = unsafe handle else { return FetchProblem(.failed) }
    let status = unsafe ccurl_number(handle, CURLINFO_RESPONSE_CODE)
    var result = FetchHead()
    let length = unsafe ccurl_large(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
    switch status {
    case 200: result.total = length >= 0 ? Int64(length) : nil
    case 206 where request.offset > 0:
      guard let (start, total) = head.range, start == request.offset else {
        return FetchProblem(.failed)
      }
      (result.start, result.total) = (start, total)
    case 416: return FetchProblem(.noRest)
    default: return FetchProblem(.status, status: (1...999).contains(status) ? status : nil)
    }
    if result.total ?? 0 > request.limit { return FetchProblem(.large) }
    end = result.start
    let modified = unsafe ccurl_large(handle, CURLINFO_FILETIME_T)
    result.modified = modified > 0 && modified < 1 << 40 ? Int64(modified) : nil
    result.validator = head.validator
    result.disposition = head.disposition
    let place = unsafe ccurl_text(handle, CURLINFO_EFFECTIVE_URL)
    result.place =
      unsafe place.map { unsafe Array(String(cString: $0).utf8.prefix(RemoteURL.limit)) } ?? []
    hasSentHead = true
    return Conversation.send(.head(result)) ? nil : FetchProblem(.failed)
  }

  /// Opens the socket for a connection, if the address is one that may be connected to. libcurl asks for each
  /// address, also after a redirect, so no name can lead elsewhere meanwhile.
  fileprivate func open(_ address: curl_sockaddr, _ bytes: [UInt8]?) -> CInt {
    wasRefused = false
    if request.isPublicOnly {
      guard let bytes, addresses.allows(bytes) else {
        wasRefused = true
        return -1
      }
    }
    let closing = CInt(SOCK_CLOEXEC.rawValue)
    return socket(address.family, address.socktype | closing, address.protocol)
  }

  private func fault(of result: CURLcode) -> FetchFault {
    let hasRedirected =
      unsafe handle.map { unsafe ccurl_number($0, CURLINFO_REDIRECT_COUNT) > 0 } ?? false
    switch result {
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
      return hasRedirected ? .redirects : .address
    case CURLE_TOO_MANY_REDIRECTS: return .redirects
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .unresolved
    case CURLE_COULDNT_CONNECT: return wasRefused ? .notPublic : .unreachable
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
  unsafe owner(context).take(array(bytes, length)) ? length : 0
}

private func takeLine(
  _ bytes: UnsafeMutablePointer<CChar>?, _ one: Int, _ length: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  unsafe owner(context).take(line: array(bytes, length))
  return length
}

private func openSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> CInt {
  guard let address = unsafe address else { return -1 }
  return unsafe owner(context).open(address.pointee, number(of: address))
}

private func owner(_ context: UnsafeMutableRawPointer?) -> Transfer {
  unsafe Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
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
