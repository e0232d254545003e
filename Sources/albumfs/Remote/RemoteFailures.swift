import ControlProtocol
import ObjectStores

extension Failure {
  /// What went wrong with a file of a store in an object storage or a directory.
  init(_ error: ObjectError, _ name: String, of place: String) {
    let what = name.isEmpty ? place : "\(name) in \(place)"
    self.init(Failure.kind(of: error), "\(what): \(error.reason)")
  }

  private static func kind(of error: ObjectError) -> Failure.Kind {
    switch error {
    case .refused: .remoteRefused
    case .unreachable: .remoteUnreachable
    case .full: .diskFull
    case .damaged: .damaged
    case .stopped: .interrupted
    case .absent, .exists, .changed, .disk, .program, .failed: .other
    }
  }
}

extension Failure {
  /// Why a store was not copied.
  init(_ error: StoreTransferError, from source: String, to target: String) {
    self =
      switch error {
      case .noStore: Failure(.storeMissing, "\(source) holds no store.")
      case .unfinishedSource:
        Failure(
          .storeMissing,
          "\(source) is a copy that is not complete: the copy into it was interrupted. Run that first. If none was, "
            + "somebody has brought \(source)/\(StoreTransfer.mark) back: remove this one file."
        )
      case .occupied:
        Failure(.notEmpty, "\(target) is not empty and holds no copy of this store.")
      case .otherStore: Failure(.notEmpty, "\(target) holds another store.")
      case .copied:
        Failure(
          .notEmpty,
          "\(target) holds a copy of this store. To make it the same again, use --update.")
      case .inUse:
        Failure(.storeInUse, "\(target) is mounted, or another command copies into it.")
      case .differs(let name):
        Failure(
          .damaged,
          "\(name) in \(target) is not what was copied. Run the same command again: it copies that file again."
        )
      case .stopped:
        Failure(.interrupted, "Interrupted. Run the same command again: it continues where it was.")
      case .source(let name, let error): Failure(error, name, of: source)
      case .target(let name, let error): Failure(error, name, of: target)
      }
  }
}

extension ObjectError {
  /// The reason as a part of a sentence, without what a command would advise.
  var phrase: String {
    var words: String
    if case .unreachable(let hindrance) = self { words = hindrance.reason } else { words = reason }
    if words.hasSuffix(".") { words.removeLast() }
    return words
  }

  fileprivate var reason: String {
    switch self {
    case .absent: "it is not there."
    case .exists: "it is there already."
    case .changed: "another program has changed it meanwhile."
    case .refused(let refusal): refusal.reason
    case .full: "there is no room left."
    case .unreachable(let hindrance):
      hindrance.reason + " Run the same command again when the server can be reached: it continues."
    case .damaged: "what arrives is not what was saved."
    case .disk(let error): "\(error)."
    case .program(let fault): fault.reason
    case .stopped: "interrupted."
    case .failed(let what): "the server does not keep to S3 (\(what))."
    }
  }
}

extension ObjectError.Refusal {
  fileprivate var reason: String {
    switch self {
    case .credentials("none"):
      "there are no credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, put a profile into "
        + "~/.aws/credentials, or give copy and init a command with --credentials-command."
    case .credentials("malformed"):
      "the access key or its secret has blanks or other characters that none has."
    case .credentials("command"):
      "the command for the credentials failed, or printed no JSON with AccessKeyId and SecretAccessKey."
    case .credentials(let code): "the server refuses the credentials (\(code))."
    case .permission:
      "the credentials do not permit a request. To read a store, they need to get and list objects there; to "
        + "change one, to put and delete them as well."
    case .noBucket: "there is no such bucket. Make it first, with the tools of the provider."
    case .region:
      "the bucket is in another region. Name that in AWS_REGION or in the profile, or for copy and init with "
        + "--region."
    case .clock: "the clock of this machine or of the server is wrong."
    case .certificate: "the server's certificate cannot be trusted."
    case .address: "its server has no valid address."
    case .other(let status, let code):
      "the server refuses it (\(code.isEmpty ? "status \(status)" : code))."
    }
  }
}

extension ObjectError.Hindrance {
  fileprivate var reason: String {
    switch self {
    case .unresolved: "there is no server with that name, or no network."
    case .noConnection: "the server cannot be reached."
    case .slow: "the server sends nothing."
    case .cut: "the connection to the server ends again and again."
    case .status(let status): "the server is busy or out of order (status \(status))."
    }
  }
}

extension ObjectError.ProgramFault {
  fileprivate var reason: String {
    switch self {
    case .start(let error): "albumfs-remote cannot be run: \(error)."
    case .notLinked: "albumfs-remote needs libcurl: sudo apt install libcurl4"
    case .confinement: "albumfs-remote cannot confine itself."
    case .missing: "the program albumfs-remote is missing: install it beside albumfs."
    }
  }
}
