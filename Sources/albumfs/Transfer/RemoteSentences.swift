import Fetching

extension RemoteDownload.Fault {
  /// Why an address brought no picture, for people.
  var reason: String {
    switch self {
    case .stopped: "interrupted"
    case .remote(let problem): problem.reason
    case .noPicture(let isPage):
      isPage ? "it is a web page, and no picture or video" : "it is no picture or video"
    case .target(let error): "the copy: \(error)"
    case .program(let error): "albumfs-fetch cannot be run: \(error)"
    case .library: "albumfs-fetch needs libcurl: sudo apt install libcurl4"
    }
  }
}

extension FetchProblem {
  fileprivate var reason: String {
    switch fault {
    case .address: "it is no address of http or https"
    case .notPublic: "it leads to an address that is not public"
    case .unresolved: "there is no server of that name"
    case .unreachable: "the server cannot be reached"
    case .certificate: "the server's certificate cannot be trusted"
    case .redirects: "it leads on too often, or to something else than http and https"
    case .status: "the server says \(status ?? 0)" + meaning
    case .large: "it is larger than --url-limit"
    case .slow: "the server sends nothing"
    case .broken: "the connection ended before the file did; run the same command again to continue"
    case .noRest, .failed: "the server sends something else than HTTP says"
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
