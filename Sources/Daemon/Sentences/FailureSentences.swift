package import AlbumStore
package import ControlProtocol
package import Posix

// Errors of the core, in words.

extension Failure {
  /// `path` is the store, if the message should name it. `changing`: the command was to write the conf or
  /// keys.
  package init(_ error: StoreError, of path: String? = nil, changing: Bool = false) {
    let message = Failure.sentence(error.message)
    self.init(
      Kind(error, changing: changing), path.map { "\($0): \(message)" } ?? message,
      remedy: error.remedy.map(Remedy.init))
  }

  /// The directory of a store does not open.
  package init(opening path: String, _ error: Errno) {
    switch error {
    case .noEntry: self.init(.storeMissing, "The store \(path) does not exist.")
    case .notDirectory:
      self.init(.storeMissing, "\(path) is not a directory, so it is not a store.")
    case .accessDenied:
      self.init(
        .configurationOpen, "The store \(path) cannot be opened: \(error).", remedy: .mayRead)
    default: self.init(.other, "The store \(path) cannot be opened: \(error).")
    }
  }

  /// Adds the capital and the full stop that the layers below leave out. The name of a file stays as it is.
  static func sentence(_ words: String) -> String {
    let end = words.last.map { ".!?".contains($0) } ?? true ? "" : "."
    let first = words.prefix { $0 != " " }
    if first == "keys" || first.contains(".") || first.contains("/") { return words + end }
    return words.prefix(1).uppercased() + words.dropFirst() + end
  }
}

extension Failure.Kind {
  fileprivate init(_ error: StoreError, changing: Bool) {
    self =
      switch error.code {
      case .notAStore, .missing: .storeMissing
      case .newerFormat, .configurationAltered, .keysDamaged, .costRefused: .configuration
      case .unsupportedFeature: .unsupported
      case .wrongPassword: .wrongPassword
      case .emptyPassword: .emptyPassword
      case .inUse: .storeInUse
      case .alreadyExists: .passwordInUse
      case .notEmpty: .notEmpty
      case .damaged: .damaged
      case .interrupted: .interrupted
      case .notSent: .notSent
      case .noSpace, .quotaExceeded: .diskFull
      case .readOnly: changing ? .configurationWrite : .other
      case .misplaced where error.path?.hasPrefix("segments") ?? false: .damaged
      case .inputOutput, .misplaced, .notPermitted:
        Failure.Kind(failedFile: error.path, changing: changing)
      }
  }

  private init(failedFile path: String?, changing: Bool) {
    let isConfiguration = ["albumfs.conf", "keys"].contains { path?.hasPrefix($0) ?? false }
    if !isConfiguration {
      self = .other
    } else {
      self = changing ? .configurationWrite : .configurationOpen
    }
  }
}

extension Failure.Remedy {
  fileprivate init(_ remedy: StoreError.Remedy) {
    self =
      switch remedy {
      case .repair: .repair
      case .mountReadOnly: .mountReadOnly
      case .recoveryKey: .recoveryKey
      case .mayRead: .mayRead
      case .mayWrite: .mayWrite
      }
  }
}
