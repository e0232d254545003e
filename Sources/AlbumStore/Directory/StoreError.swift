package import Posix

/// The error of albumfs' core. `code` determines how the caller reacts. `message` is for the user: what
/// failed, why, and what to do with the files of the store. `remedy` is what albumfs can do. Never contains a
/// secret.
package struct StoreError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable, Equatable, CaseIterable {
    /// There is no store here, or too little is left of it.
    case notAStore
    /// The store was made by a newer albumfs.
    case newerFormat
    /// No slot decrypts with the password: it is wrong, or there is no such space.
    case wrongPassword
    /// A new password is empty.
    case emptyPassword
    /// albumfs.conf differs from the one that sealed the key slots.
    case configurationAltered
    /// `keys` is missing, has the wrong size, or is damaged.
    case keysDamaged
    /// The conf asks for an excessive amount of memory or work.
    case costRefused
    /// The space uses a feature that this version does not know.
    case unsupportedFeature
    /// The space is mounted already.
    case inUse
    /// The store, or a space with this password, exists already.
    case alreadyExists
    /// The directory for a new store contains something else.
    case notEmpty
    /// A record does not decrypt, or its content is impossible.
    case damaged
    /// The caller does not want it any more.
    case interrupted
    case noSpace
    case quotaExceeded
    /// Nothing can be changed; the message says why.
    case readOnly
    /// Everything is on the disk of this machine, and not all of it where the store lies.
    case notSent
    /// The user may not read or write a file of the store.
    case notPermitted
    /// The disk or the operating system failed.
    case inputOutput
    /// A file of the store is missing.
    case missing
    /// An object of the wrong type is in the place of a file or folder of the store: a FIFO, a link, a
    /// device.
    case misplaced
  }

  /// A remedy for the error. The front end says how to apply it.
  package enum Remedy: Sendable, Equatable {
    /// A repair of the space helps.
    case repair
    /// A mount that changes nothing works.
    case mountReadOnly
    /// The recovery key unlocks the space without `keys`.
    case recoveryKey
    /// The owner of the store, or of a file in it, can permit it.
    case mayRead, mayWrite
  }

  package var code: Code
  package var message: String
  /// The path, relative to the store.
  package var path: String?
  package var cause: Errno?
  package var remedy: Remedy?

  package init(
    _ code: Code, _ message: String, path: String? = nil, cause: Errno? = nil,
    remedy: Remedy? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.cause = cause
    self.remedy = remedy
  }

  package var description: String { message }

  /// True if only room is missing, so that the call may be tried again.
  var isShortage: Bool { code == .noSpace || code == .quotaExceeded }
}

extension StoreError {
  /// Describes a failed call on a file of the store. `what` is the attempted action: "read", "write".
  package init(_ what: String, _ path: String, _ cause: Errno) {
    let place = path.isEmpty ? "the store's directory" : "\(path) in the store"
    let said = "cannot \(what) \(place): \(cause)"
    if cause.isMisplaced {
      self.init(
        .misplaced, "\(said), and restore it from a backup of the store", path: path, cause: cause)
      return
    }
    switch cause {
    case .noSpace:
      self.init(.noSpace, "\(said); free some space there", path: path, cause: cause)
    case .quota:
      self.init(.quotaExceeded, "\(said); free some space there", path: path, cause: cause)
    case .readOnly:
      self.init(.readOnly, said, path: path, cause: cause, remedy: .mountReadOnly)
    case .accessDenied, .notPermitted:
      let file = path.isEmpty ? "\(cause)" : "\(path): \(cause)"
      let reads = what == "read"
      self.init(
        .notPermitted, "you may not \(reads ? "read" : "write to") this store (\(file))",
        path: path,
        cause: cause, remedy: reads ? .mayRead : .mayWrite)
    case .noEntry: self.init(.missing, said, path: path, cause: cause)
    default: self.init(.inputOutput, said, path: path, cause: cause)
    }
  }

  /// For a folder that its parent has just listed.
  init(listing path: String, _ cause: Errno) {
    self.init("read", path, cause)
    if cause == .noEntry {
      message += "; it was there a moment ago, and was replaced or moved away"
    }
  }
  package init(reading path: String, _ cause: Errno) { self.init("read", path, cause) }
  package init(writing path: String, _ cause: Errno) { self.init("write", path, cause) }
  /// The code is `.inputOutput` for every error, even for a full disk, because earlier writes may be lost.
  package init(syncing path: String, _ cause: Errno) {
    self.init("write out", path, cause)
    code = .inputOutput
  }
  package init(removing path: String, _ cause: Errno) { self.init("remove", path, cause) }
}
