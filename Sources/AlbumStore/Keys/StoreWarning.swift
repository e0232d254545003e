package import AlbumFormat
package import Posix

/// Information for the owner of a store that does not stop an operation. The front end makes sentences of it.
package enum StoreWarning: Equatable, Sendable {
  /// One of the confs cannot be used. albumfs uses its twin.
  case unusableConf(path: String, twin: String, ConfFault)
  /// Both confs can be used, and their Argon2id lines differ. `right` is the file to keep, if that is known.
  case confsDiffer(right: String?)
  /// `keys` is missing, and a recovery key unlocked the space.
  case lostKeys
  /// `keys` has no slot of the space that a recovery key unlocked.
  case noSlot
  /// `keys` does not consist of whole slots, or has fewer than any store is made with.
  case wrongSizeOfKeys(byteCount: Int)
  /// An object of the wrong type lies in the place of a file or folder of the store.
  case misplaced(path: String, Errno)

  /// The conf has a line that the space does not know. The line is strong enough.
  case unknownLine(KeyDerivation)
  /// The conf has a line that the space does not know, and it is too weak.
  case unknownWeakLine(KeyDerivation)
  /// The conf has a line that is too weak. No space was unlocked that could show whether it knows the line.
  case weakLine(KeyDerivation)
  /// The conf lacks a line that the space knows.
  case missingLine
  /// The space's slot is sealed at a lower cost than albumfs uses today.
  case weakSlot(KDFCost)

  /// The environment permits weak passwords, and a slot was sealed at this cost.
  case weakForTests(KDFCost)
  /// The environment forbids chaff.
  case chaffForbiddenForTests

  /// False if the warning may describe a healthy store.
  package var isDamage: Bool {
    if case .unknownLine = self { false } else { true }
  }
}

/// Why a conf cannot be used.
package enum ConfFault: Equatable, Sendable {
  case missing
  case unreadable(Errno)
  case undecodable(ConfigurationError)
}
