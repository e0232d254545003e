import Fetching

extension RemoteDownload.Fault {
  /// Why an address brought no picture, for people.
  var reason: String {
    switch self {
    case .stopped: "interrupted"
    case .remote(let problem): problem.reason
    case .noPicture(let isPage):
      isPage ? "it is a web page, and no picture or video" : "it is not a picture or video"
    case .target(let error): "the copy: \(error)"
    case .program(let error): "albumfs-fetch cannot be run: \(error)"
    case .library: "albumfs-fetch needs libcurl: sudo apt install libcurl4"
    }
  }
}

extension FetchProblem {
  fileprivate var reason: String {
    switch fault {
    case .address: "it is not an http or https address"
    case .notPublic: "it leads to an address that is not public"
    case .unresolved: "there is no server with that name"
    case .unreachable: "the server cannot be reached"
    case .certificate: "the server's certificate cannot be trusted"
    case .redirects: "it redirects too often, or to something other than http and https"
    case .status: "the server says \(status ?? 0)" + meaning
    case .large: "it is larger than --url-limit"
    case .slow: "the server sends nothing"
    case .broken: "the connection ended before the file did; run the same command again to continue"
    case .noRest, .failed: "the server does not keep to HTTP"
    }
  }

  private var meaning: String {
    switch status {
    case 401, 403: ": it wants a login, or refuses"
    case 404, 410: ": there is nothing"
    case 429: ": too many requests"
    default: ""
    }
  }
}
