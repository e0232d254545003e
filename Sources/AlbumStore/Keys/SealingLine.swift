internal import AlbumFormat
internal import AlbumSecrets

/// Selects the Argon2id line for a new slot, never below the floor:
///
/// 1. The strongest line that the caller trusts.
/// 2. If none of these is strong enough, the strongest line of the conf. A line that somebody else wrote
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
    for line in derivations where !found.vouches(for: line) {
      if line.cost.isAtLeast(SealingFloor.current) {
        advise(
          "\(ConfigurationFiles.main) has an Argon2id line that this space does not know "
            + "(\(Store.name(line))): either it was written by space add or space password for "
            + "another password, or somebody edited the file; it weakens no password, and if nobody "
            + "set one, \(Store.restore)")
      } else {
        warn(
          "\(ConfigurationFiles.main) was edited: it has an Argon2id line that makes passwords easy to "
            + "guess (\(Store.name(line))), and that this space does not know; no password is sealed "
            + "by it; \(Store.restore)")
      }
    }
    let present = Set(derivations.map(\.digest))
    if !present.isSuperset(of: found.content.header.trustedLines.digests) {
      warn(
        "\(ConfigurationFiles.main) lacks an Argon2id line that it had: passwords that were set with "
          + "it do not open any more; \(Store.restore)")
    }
    for line in found.lines where !line.cost.isAtLeast(SealingFloor.current) {
      warn(
        "the space's password is easy to guess: its slot is sealed with \(line.cost.text) "
          + "(\(KDFCost.floor.text) is the least today); change it with albumfs space password, and "
          + "make backups anew")
    }
  }

  /// Warns about lines that are weaker than any that albumfs writes, for callers that unlock no slot.
  func warnOfWeakLines() {
    for line in derivations where !line.cost.isAtLeast(SealingFloor.current) {
      warn(
        "\(ConfigurationFiles.main) has an Argon2id line that makes passwords easy to guess "
          + "(\(Store.name(line))): no new password is sealed by it; if it was not there from the "
          + "beginning, the file was edited: \(Store.restore)")
    }
  }

  /// Warns about a slot with a cost that only tests may use.
  func warnWhereWeak(_ line: KeyDerivation) {
    if line.cost.isAtLeast(.floor) { return }
    warn(
      "\(SealingFloor.variable) is set, which is for tests: the password is sealed with "
        + "\(line.cost.text) and easy to guess")
  }

  private static func name(_ line: KeyDerivation) -> String {
    "line \(line.number): \(line.cost.text)"
  }

  private static var restore: String {
    "copy \(ConfigurationFiles.main) from a backup over \(ConfigurationFiles.main) and "
      + "\(ConfigurationFiles.twin)"
  }
}
