/// Why a command cannot do what was asked, as daemon and command line tell one another. The kind is
/// what a program can act on (the command line maps it to an exit code), the message is for a
/// person: one sentence or two, no secret in it.
package struct Failure: Error, Codable, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: String, Codable, Sendable, CaseIterable {
    case usage
    case storeMissing, notEmpty, configuration, configurationOpen, configurationWrite
    case storeInUse, passwordInUse, unsupported, damaged
    case noPassword, emptyPassword, wrongPassword
    case mountPoint, fuse, noSuchMount, busy, unreachable
    case timedOut, diskFull, clash, interrupted, other

    /// A kind that only a newer program knows counts as `other`.
    package init(from decoder: any Decoder) throws {
      let name = try decoder.singleValueContainer().decode(String.self)
      self = Kind(rawValue: name) ?? .other
    }
  }
  /// What a person can do about it; the command line says how.
  package enum Remedy: String, Codable, Sendable {
    case repair, mountReadOnly, other

    /// One that only a newer program knows counts as `other`.
    package init(from decoder: any Decoder) throws {
      let name = try decoder.singleValueContainer().decode(String.self)
      self = Remedy(rawValue: name) ?? .other
    }
  }
  package var kind: Kind
  package var message: String
  package var remedy: Remedy?

  package init(_ kind: Kind, _ message: String, remedy: Remedy? = nil) {
    self.kind = kind
    self.message = message
    self.remedy = remedy
  }

  package var description: String { message }
}
