package import Posix

/// Why a call of an `ObjectStore` failed, by what the caller can do about it.
package enum ObjectError: Error, Equatable, Sendable {
  /// There is no such object.
  case absent
  /// There is such an object already.
  case exists
  /// The object is not in the expected state.
  case changed
  /// The store refuses, and will again until somebody changes something.
  case refused(Refusal)
  /// The store has no room, or the user's share of it is used up.
  case full
  /// The store did not reply in time, with all attempts.
  case unreachable(Hindrance)
  /// What came is not what was saved.
  case damaged
  /// The directory's file system reports an error.
  case disk(Errno)
  /// The program that speaks to the server cannot be run.
  case program(ProgramFault)
  /// The caller wants to stop.
  case stopped
  /// The store does not keep to its protocol; the text says in what.
  case failed(String)

  package enum Refusal: Equatable, Sendable {
    /// The access key is unknown, or its secret is wrong, or the session token has expired. Holds the
    /// server's word for it.
    case credentials(String)
    /// The access key may not do this.
    case permission
    case noBucket
    /// The server expects signatures for another region.
    case region
    /// The clock of this machine or of the server is wrong.
    case clock
    case certificate
    /// There is no such server name.
    case address
    /// Another refusal: the status of HTTP, and the server's word for it.
    case other(Int, String)
  }

  /// Why the last attempt failed.
  package enum Hindrance: Equatable, Sendable {
    case unresolved, noConnection, slow, cut
    /// The server says that it is busy or out of order: its status.
    case status(Int)
  }

  package enum ProgramFault: Equatable, Sendable {
    case start(Errno)
    /// The dynamic linker found no libcurl.
    case notLinked
    /// The kernel refuses its confinement.
    case confinement
    case missing
  }
}
