/// What a reply means for the request.
enum S3Verdict: Equatable {
  /// It is done, or its condition did not hold: the caller looks at the status.
  case final
  /// Another attempt may succeed.
  case again(ObjectError.Hindrance)
  /// Another attempt may succeed with the server's clock.
  case skewed
  /// Another attempt may succeed with new credentials.
  case unknownCredentials(String)
  /// The content did not arrive as it was sent.
  case garbled
  /// It can only be the reply to another request, or it is none.
  case ofAnother
  case error(ObjectError)

  init(_ reply: RemoteReply, _ command: RemoteCommand) {
    if let fault = reply.fault {
      self = S3Verdict(fault)
      return
    }
    let code = reply.code ?? ""
    switch reply.status {
    case 200...299, 304, 412, 416:
      self = S3Verdict.replies(reply, to: command) ? .final : .ofAnother
    case 404 where code == "NoSuchBucket": self = .error(.refused(.noBucket))
    case 404: self = command.isListing ? .ofAnother : .final
    case 408, 409, 425, 429, 500, 502, 503, 504: self = .again(.status(reply.status))
    case 507: self = .error(.full)
    case 301, 307: self = .error(.refused(.region))
    default: self = S3Verdict(status: reply.status, code)
    }
  }

  /// False if a reply cannot be that to this command. A proxy may exchange two replies.
  private static func replies(_ reply: RemoteReply, to command: RemoteCommand) -> Bool {
    let isGood = 200...299 ~= reply.status
    switch command {
    case .begin: return true
    case .save: return isGood || reply.status == 412
    case .stat, .remove: return isGood
    case .list(let prefix, _):
      guard isGood, let page = reply.page, reply.prefix ?? prefix == prefix else { return false }
      return page.objects.allSatisfy { $0.name.hasPrefix(prefix) }
    case .load(_, nil, _): return reply.status == 200 || reply.status == 304
    case .load(_, let range?, _):
      if reply.status != 206 { return reply.status == 304 || reply.status == 416 }
      guard let found = reply.range else { return true }
      let end = min(range.upperBound, reply.size ?? found.upperBound)
      return found.lowerBound == range.lowerBound && found.upperBound == end
    }
  }

  /// What it means if no reply was that to this command.
  static func error(of command: RemoteCommand) -> ObjectError {
    switch command {
    case .list: .failed("its listing")
    case .load(_, .some, _): .failed("it sends no ranges")
    default: .failed("its replies")
    }
  }

  private init(_ fault: RemoteFault) {
    switch fault {
    case .unresolved: self = .again(.unresolved)
    case .unreachable: self = .again(.noConnection)
    case .slow: self = .again(.slow)
    case .broken: self = .again(.cut)
    case .address: self = .error(.refused(.address))
    case .certificate: self = .error(.refused(.certificate))
    case .large: self = .error(.damaged)
    case .confinement: self = .error(.program(.confinement))
    case .failed: self = .error(.failed("no HTTP"))
    }
  }

  /// By the server's word. Servers give the same word different statuses.
  private init(status: Int, _ code: String) {
    switch code {
    case "RequestTimeTooSkewed", "RequestExpired": self = .skewed
    case "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "TokenRefreshRequired",
      "SignatureDoesNotMatch", "InvalidClientTokenId":
      self = .unknownCredentials(code)
    case "XAmzContentSHA256Mismatch", "BadDigest", "IncompleteBody", "RequestTimeout":
      self = .garbled
    case "QuotaExceeded", "InsufficientCapacity", "XMinioStorageFull", "InsufficientStorage":
      self = .error(.full)
    case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
      self = .error(.refused(.region))
    case "AccessDenied": self = .error(.refused(.permission))
    case "SlowDown": self = .again(.status(status))
    default:
      self = .error(.refused(status == 403 ? .permission : .other(status, code)))
    }
  }
}
