import AlbumFormat
import AlbumTestSupport

/// The start of the machine since which a store is looked at, compared with the one since which it was
/// written. A process is killed within one start; a power cut ends it. Where it is the same, no write is lost.
enum Boot: CaseIterable {
  case unknown
  case same
  case new

  func identity(beside written: BootIdentity, _ random: inout SeededRandom) -> BootIdentity {
    switch self {
    case .unknown: .unknown
    case .same: written
    case .new: .random(&random)
    }
  }
}

extension BootIdentity {
  static func random(_ random: inout SeededRandom) -> BootIdentity {
    BootIdentity(bytes: random.bytes(byteCount))
  }

  /// Any start that a store may be looked at in.
  static func any(beside written: BootIdentity, _ random: inout SeededRandom) -> BootIdentity {
    Boot.allCases.randomElement(using: &random)!.identity(beside: written, &random)
  }

  /// Any in which a power cut may have come before.
  static func afterPowerCut(_ random: inout SeededRandom) -> BootIdentity {
    Bool.random(using: &random) ? .unknown : .random(&random)
  }
}
