internal import AlbumFormat
internal import AlbumSecrets

/// The Argon2id line that seals a new slot, never below the floor:
///
/// 1. The strongest of the lines that the caller can vouch for.
/// 2. Where none of these is strong enough, the strongest of the conf. One that somebody else wrote
///    makes no guess cheaper, and with a line for each who knows no other, the conf would show how many
///    spaces there are.
/// 3. Where there is none either, a new line, to be appended to the conf.
struct SealingLine {
  let derivation: KeyDerivation
  /// To be written to the conf before the slot is.
  let isNew: Bool

  /// `known` are lines of the conf, which has `lines`. Throws `.costRefused` where a new line is
  /// needed and the conf holds no more.
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

  /// By passes times memory, then by memory; nil where all are below the floor.
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

// What a slot that opened says about the lines of the conf.
extension Store {
  /// Tells where the conf is not what the slot vouches for.
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

  /// Tells where lines are weaker than any that albumfs writes; for who opens no slot.
  func warnOfWeakLines() {
    for line in derivations where !line.cost.isAtLeast(SealingFloor.current) {
      warn(
        "\(ConfigurationFiles.main) has an Argon2id line that makes passwords easy to guess "
          + "(\(Store.name(line))): no new password is sealed by it; if it was not there from the "
          + "beginning, the file was edited: \(Store.restore)")
    }
  }

  /// Tells of a slot that only tests may seal so.
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
