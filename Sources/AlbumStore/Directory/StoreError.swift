package import Posix

/// What the core of albumfs throws: `code` says what the caller can do about it, `message` says it
/// to a person (what failed, why, what to do). Never holds a secret.
package struct StoreError: Error, Sendable, CustomStringConvertible {
  package enum Code: Sendable, Equatable, CaseIterable {
    /// There is no store here, or what is left of it is not enough.
    case notAStore
    /// The store was made by a newer albumfs.
    case newerFormat
    /// No slot opens with the password: it is wrong, or there is no such space.
    case wrongPassword
    /// A new password is empty.
    case emptyPassword
    /// albumfs.conf is not what the key slots were sealed with.
    case configurationAltered
    /// `keys` is missing, cut short or damaged.
    case keysDamaged
    /// The conf asks for an absurd amount of memory or work.
    case costRefused
    /// The space uses something that this version does not know.
    case unsupportedFeature
    /// The space is mounted already.
    case inUse
    /// What is to be made is there already: a store, or a space with this password.
    case alreadyExists
    /// The directory that is to become a store holds something else.
    case notEmpty
    /// A record does not open, or what it says cannot be.
    case damaged
    case noSpace
    case quotaExceeded
    /// Nothing can be changed, and why not.
    case readOnly
    /// The disk or the operating system failed.
    case inputOutput
    /// A file of the store is not there.
    case missing
    /// Something else lies where a file or folder of the store should: a FIFO, a link, a device.
    case misplaced
  }

  /// What whoever runs the program can do; how, the program's front end says.
  package enum Remedy: Sendable, Equatable { case repair, mountReadOnly }

  package var code: Code
  package var message: String
  /// Where in the store, relative to it.
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

  /// Whether it is only room that is missing: what failed may be tried again.
  var isShortage: Bool { code == .noSpace || code == .quotaExceeded }
}

extension StoreError {
  /// What a failed call on a file of the store means. `what` is what was tried: "read", "write".
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
    case .noEntry: self.init(.missing, said, path: path, cause: cause)
    default: self.init(.inputOutput, said, path: path, cause: cause)
    }
  }

  package init(reading path: String, _ cause: Errno) { self.init("read", path, cause) }
  package init(writing path: String, _ cause: Errno) { self.init("write", path, cause) }
  /// Whatever the disk says, also that it is full: what was written before may be lost.
  package init(syncing path: String, _ cause: Errno) {
    self.init("write out", path, cause)
    code = .inputOutput
  }
  package init(removing path: String, _ cause: Errno) { self.init("remove", path, cause) }
}
