import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import Posix

/// A failure as the page learns of it. The codes are those of Interface.md.
struct GalleryError: Error {
  enum Code: String {
    case session, refused, origin, unknown, exists, name, invalid, large, range, slow, room
    case readonly, damaged, busy, failed, link
    // Of addresses in the web.
    case address, local, unreachable, missing, nopicture
  }

  var code: Code
  var detail: String?
  /// Further fields of the reply.
  var numbers: [(name: String, value: Int64)] = []
  /// Where it differs from the code's own.
  var status: HTTPResponse.Status?

  init(_ code: Code, _ detail: String? = nil) {
    self.code = code
    self.detail = detail
  }

  /// Maps the error of a file call.
  init(errno error: Errno) {
    switch error {
    case .noEntry, .stale: self.init(.unknown)
    case .exists, .notEmpty: self.init(.exists)
    case .noSpace, .quota: self.init(.room)
    case .readOnly, .accessDenied, .notPermitted: self.init(.readonly)
    case .io, .badMessage: self.init(.damaged)
    case .nameTooLong, .invalid: self.init(.name)
    case .notConnected: self.init(.session)
    // What each call says of a name that leads elsewhere, or to no file or folder where it needs one.
    case .tooManySymlinks, .notDirectory, .isDirectory, .noDevice, .crossDevice:
      self.init(
        .link,
        "A link, or something else that is no plain file or folder, is in the way. The gallery does not "
          + "follow links.")
    default: self.init(.failed, "The space refused a call on its files: \(error).")
    }
  }

  /// Maps an error of any other code.
  init(any error: any Error) {
    switch error {
    case let error as GalleryError: self = error
    case let error as Errno: self.init(errno: error)
    case let error as any HTTPResponseError:
      switch error.status.code {
      case 404, 405: self.init(.unknown)
      case 413: self.init(.large)
      default: self.init(.invalid)
      }
    case is HTTPParserError: self.init(.invalid)
    case is CancellationError: self.init(.busy)
    default: self.init(.failed)
    }
  }

  private var usualStatus: HTTPResponse.Status {
    switch code {
    case .session: .unauthorized
    case .refused, .origin, .readonly: .forbidden
    case .unknown: .notFound
    case .exists, .link: .conflict
    case .name, .invalid, .address, .local: .badRequest
    case .unreachable, .missing, .nopicture: .badGateway
    case .large: .contentTooLarge
    case .range: .rangeNotSatisfiable
    case .slow: .tooManyRequests
    case .room: .init(code: 507, reasonPhrase: "Insufficient Storage")
    case .busy: .serviceUnavailable
    case .damaged, .failed: .internalServerError
    }
  }

  /// The fields of the reply.
  func write(to text: inout JSONText) {
    text.field("error", code.rawValue)
    if let detail { text.field("detail", detail) }
    for (name, value) in numbers { text.field(name, value) }
  }

  var response: Response {
    var text = JSONText()
    text.object { write(to: &$0) }
    return text.response(status ?? usualStatus)
  }
}
