import Fetching
import NetworkCell

/// One transfer, whose parts go to the caller as they come. For one thread.
final class Transfer: WebReceiver {
  private let request: FetchRequest
  private let addresses: PublicAddress
  private let web: WebTransfer
  private var head = ResponseHead()
  private var hasSentHead = false
  /// The offset behind the last byte that was passed on.
  private var end: Int64 = 0
  /// Why this program itself ended the transfer.
  private var problem: FetchProblem?

  /// nil if libcurl has no memory.
  init?(_ request: FetchRequest, _ addresses: PublicAddress) {
    guard let web = WebTransfer() else { return nil }
    self.request = request
    self.addresses = addresses
    self.web = web
  }

  /// Returns why not everything came; nil if it did.
  func run() -> FetchProblem? {
    let fault = web.run(wanted, self)
    if let problem { return problem }
    if let fault { return FetchProblem(FetchFault(fault)) }
    // A file without content.
    return hasSentHead ? nil : sendHead()
  }

  private var wanted: WebRequest {
    var wanted = WebRequest(url: request.url.text, limit: request.limit)
    wanted.followsRedirects = true
    // A proxy would connect to addresses that are refused here.
    wanted.usesProxy = !request.isPublicOnly
    if request.offset > 0, let validator = request.validator {
      // libcurl's own way to resume fails where the server sends everything anew.
      wanted.range = "\(request.offset)-"
      wanted.headers = ["If-Range: \(validator)"]
    }
    return wanted
  }

  // MARK: What comes

  func take(content bytes: [UInt8]) -> Bool {
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
      if !Caller.send(FetchReply.data(piece).encode()) {
        problem = FetchProblem(.failed)
        return false
      }
    }
    return true
  }

  func take(line: [UInt8]) { head.add(line) }

  func allows(_ address: [UInt8]?) -> Bool {
    if !request.isPublicOnly { return true }
    return address.map(addresses.allows) ?? false
  }

  /// Tells the caller what comes; returns why nothing does.
  private func sendHead() -> FetchProblem? {
    let status = web.status
    var result = FetchHead()
    switch status {
    case 200: result.total = web.contentLength
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
    result.modified = web.modified
    result.validator = head.validator
    result.disposition = head.disposition
    result.place = Array(web.place.prefix(RemoteURL.limit))
    hasSentHead = true
    return Caller.send(FetchReply.head(result).encode()) ? nil : FetchProblem(.failed)
  }
}

extension FetchFault {
  fileprivate init(_ fault: WebFault) {
    self =
      switch fault {
      case .address: .address
      case .redirects: .redirects
      case .unresolved: .unresolved
      case .unreachable: .unreachable
      case .refused: .notPublic
      case .certificate: .certificate
      case .slow: .slow
      case .large: .large
      case .broken: .broken
      case .failed: .failed
      }
  }
}
