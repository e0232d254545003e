internal import AlbumFormat
internal import AlbumSecrets
internal import Posix

/// Selects the Argon2id line for a new slot, never below the floor:
///
/// 1. The strongest line that the caller trusts.
/// 2. If none of these is strong enough, the strongest line of the conf. A line that a stranger wrote
///    makes no guess cheaper. With a new line for each caller who trusts no other, the conf would show how
///    many spaces there are.
/// 3. If there is none either, a new line, which the caller appends to the conf.
struct SealingLine {
  let derivation: KeyDerivation
  /// True if the line must be written to the conf before the slot.
  let isNew: Bool

  /// `known` are trusted lines of the conf, and `lines` all of them. Throws `.costRefused` if a new line is
  /// needed and the conf has no room for one.
  init(
    known: [KeyDerivation], in lines: [KeyDerivation], floor: KDFCost = SealingFloor.current
  ) throws(StoreError) {
    if let best = SealingLine.strongest(known, floor) ?? SealingLine.strongest(lines, floor) {
      self.init(derivation: best, isNew: false)
      return
    }
    let number = (lines.map(\.number).max() ?? 0) + 1
    let new = SealingLine.random(number: number, cost: floor)
    if StoreConfiguration.excess(lines + [new]) != nil { throw SealingLine.noRoom }
    self.init(derivation: new, isNew: true)
  }

  private init(derivation: KeyDerivation, isNew: Bool) {
    self.derivation = derivation
    self.isNew = isNew
  }

  static func random(number: Int, cost: KDFCost) -> KeyDerivation {
    KeyDerivation(
      number: number, cost: cost, salt: RandomFill.bytes(KeyDerivation.saltByteCount))
  }

  /// The strongest line by passes times memory, then by memory; nil if all are below the floor.
  private static func strongest(_ lines: [KeyDerivation], _ floor: KDFCost) -> KeyDerivation? {
    lines.filter { $0.cost.isAtLeast(floor) }.max {
      ($0.cost.work, $0.cost.memory) < ($1.cost.work, $1.cost.memory)
    }
  }

  private static var noRoom: StoreError {
    StoreError(
      .costRefused,
      "\(ConfigurationFiles.main) has no Argon2id line that is strong enough for a new password, and "
        + "no room for one: it was edited; copy it from a backup over \(ConfigurationFiles.main) "
        + "and \(ConfigurationFiles.twin)", path: ConfigurationFiles.main)
  }
}

// Compares the lines of the conf with those that an unlocked slot trusts.
extension Store {
  /// Warns if the conf differs from what the slot trusts.
  func warn(of found: KeySlots.Found) {
    learnRightConf(from: found)
    for line in derivations where !found.vouches(for: line) {
      let isStrong = line.cost.isAtLeast(SealingFloor.current)
      warn(isStrong ? .unknownLine(line) : .unknownWeakLine(line))
    }
    let present = Set(derivations.map(\.digest))
    if !present.isSuperset(of: found.content.header.trustedLines.digests) { warn(.missingLine) }
    for line in found.lines where !line.cost.isAtLeast(SealingFloor.current) {
      warn(.weakSlot(line.cost))
    }
  }

  /// Warns about lines that are weaker than any that albumfs writes, for callers that unlock no slot.
  func warnOfWeakLines() {
    for line in derivations where !line.cost.isAtLeast(SealingFloor.current) {
      warn(.weakLine(line))
    }
  }

  /// Warns about a slot with a cost that only tests may use.
  func warnWhereWeak(_ line: KeyDerivation) {
    if line.cost.isAtLeast(.floor) { return }
    warn(.weakForTests(line.cost))
  }
}

/// The least cost of a new slot, whatever the conf says.
enum SealingFloor {
  static var current: KDFCost {
    TestHooks.allowsWeakPasswords
      ? KDFCost(operations: 1, memory: KDFCost.memoryAllowed.lowerBound) : KDFCost.floor
  }
}
