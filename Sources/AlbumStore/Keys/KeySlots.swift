internal import AlbumFormat
internal import AlbumSecrets

/// The slots of a `keys` file, and their changes. It records which slots it copies and which it sealed, so
/// that the new file can be proven.
struct KeySlots {
  private struct Slot {
    var bytes: [UInt8]
    var origin: Origin
  }

  private enum Origin {
    /// Copied from this place of the old file.
    case carried(Int)
    case random
    case sealed(PasswordKey, SlotContent)
  }

  private var slots: [Slot] = []
  private var former: [[UInt8]] = []
  /// The number of slots that were sealed anew.
  private var replaced = 0
  /// True if the file does not consist of whole slots, or has fewer than any store is made with.
  let hasWrongSize: Bool

  init(_ bytes: [UInt8]) {
    let count = bytes.count / KeySlot.byteCount
    hasWrongSize = bytes.count % KeySlot.byteCount != 0 || count < KeySlot.minimumCount
    for place in 0..<count {
      let start = place * KeySlot.byteCount
      former.append(Array(bytes[start..<start + KeySlot.byteCount]))
      slots.append(Slot(bytes: former[place], origin: .carried(place)))
    }
  }

  /// How many random slots a store is born with on average, beyond `KeySlot.minimumCount`. Each added space
  /// adds two on average, which makes a store of a given size more likely by 2/256 only.
  static let meanAtBirth = 256

  /// The first slots of a store: at least 8, one of them in use, all indistinguishable.
  init(birth key: PasswordKey, _ content: SlotContent) {
    self.init(beginningAnew: ())
    replace(Int.random(in: 0..<count), key, content)
  }

  /// As many slots as at the birth of a store, none of them in use.
  init(beginningAnew: Void) {
    hasWrongSize = false
    let count = KeySlot.minimumCount + Geometric.random(mean: KeySlots.meanAtBirth)
    for _ in 0..<count { slots.append(KeySlots.randomSlot()) }
  }

  var bytes: [UInt8] { slots.flatMap(\.bytes) }
  var count: Int { slots.count }

  // MARK: Finding

  struct Found {
    /// More than one only if slots were duplicated by hand.
    var places: [Int]
    var content: SlotContent
    /// The lines of the conf that sealed them.
    var lines: [KeyDerivation]

    /// True for lines that sealed the slot or that the slot lists.
    func vouches(for line: KeyDerivation) -> Bool {
      lines.contains(line) || content.header.trustedLines.contains(line.digest)
    }
  }

  /// Finds the slot that one of the keys decrypts. Tries every key on every slot, even after a match. Throws
  /// `.wrongPassword`, `.keysDamaged`, `.configurationAltered`, `.unsupportedFeature`.
  func find(_ keys: [PasswordKey]) throws(StoreError) -> Found {
    var found: Found?
    var isAltered = false
    for (place, slot) in slots.enumerated() {
      for key in keys {
        switch key.unwrap(slot.bytes[...]) {
        case .notThis: break
        case .sealedWithOtherLines: isAltered = true
        case .decrypted(let content): KeySlots.add(place, content, key.derivation, to: &found)
        }
      }
    }
    guard let found else { throw nothingFound(isAltered: isAltered) }
    if let refusal = found.content.header.refusal {
      throw StoreError(
        .unsupportedFeature,
        "this albumfs is too old for the space: \(refusal); a newer one is needed",
        path: KeyRing.path)
    }
    let cipher = CipherKind(rawValue: found.content.header.cipher)!
    if !cipher.isAvailable { throw StoreError(unavailable: cipher) }
    return found
  }

  private static func add(
    _ place: Int, _ content: SlotContent, _ line: KeyDerivation, to found: inout Found?
  ) {
    guard let former = found else {
      found = Found(places: [place], content: content, lines: [line])
      return
    }
    if former.places.last != place, former.content.isEqual(to: content) {
      found?.places.append(place)
      if !former.lines.contains(line) { found?.lines.append(line) }
    }
  }

  private func nothingFound(isAltered: Bool) -> StoreError {
    if isAltered {
      return StoreError(
        .configurationAltered,
        "the password is right, but \(ConfigurationFiles.main) was edited since it was set; "
          + "restore it from \(ConfigurationFiles.twin) or a backup",
        path: ConfigurationFiles.main)
    }
    if hasWrongSize {
      return StoreError(
        .keysDamaged,
        "this password unlocks none of the slots in \(KeyRing.path), which has the wrong size and may "
          + "have lost slots; restore it from a backup", path: KeyRing.path, remedy: .recoveryKey)
    }
    return StoreError(.wrongPassword, "this password unlocks no space of this store")
  }

  /// Throws `.alreadyExists` if a slot matches one of the keys.
  func requireUnused(_ keys: [PasswordKey]) throws(StoreError) {
    var isUsed = false
    for slot in slots {
      for key in keys {
        if case .notThis = key.unwrap(slot.bytes[...]) { continue }
        isUsed = true
      }
    }
    if isUsed {
      throw StoreError(
        .alreadyExists, "this password unlocks a space of this store already; choose another one")
    }
  }

  /// The slots of a space, and those that one of the keys sealed.
  func places(of space: SpaceKeys, _ keys: [PasswordKey]) -> [Int] {
    slots.indices.filter { place in
      let bytes = slots[place].bytes[...]
      return space.isOwn(slot: bytes)
        || keys.contains { if case .notThis = $0.unwrap(bytes) { false } else { true } }
    }
  }

  // MARK: Changing

  /// Inserts a new slot at a random place, and 0 to 2 random slots at others.
  mutating func insert(_ key: PasswordKey, _ content: SlotContent) {
    let slot = Slot(bytes: key.wrap(content), origin: .sealed(key, content))
    var added = (0..<Int.random(in: 0...2)).map { _ in KeySlots.randomSlot() }
    added.insert(slot, at: Int.random(in: 0...added.count))
    for slot in added { slots.insert(slot, at: Int.random(in: 0...slots.count)) }
  }

  /// Seals a slot anew in its place.
  mutating func replace(_ place: Int, _ key: PasswordKey, _ content: SlotContent) {
    if case .carried = slots[place].origin { replaced += 1 }
    slots[place] = Slot(bytes: key.wrap(content), origin: .sealed(key, content))
  }

  /// Makes a slot random, so that no password unlocks it any more.
  mutating func scrap(_ place: Int) {
    if case .carried = slots[place].origin { replaced += 1 }
    slots[place] = KeySlots.randomSlot()
  }

  private static func randomSlot() -> Slot {
    Slot(bytes: RandomFill.bytes(KeySlot.byteCount), origin: .random)
  }

  // MARK: Proof

  /// True if `written` may replace `keys`: it has every slot that was not sealed anew, byte for byte and in
  /// order, and those that were decrypt to the right content.
  func isProven(by written: [UInt8]) -> Bool {
    guard written == bytes, written.count % KeySlot.byteCount == 0 else { return false }
    var kept = 0
    var next = 0
    for (place, slot) in slots.enumerated() {
      let start = place * KeySlot.byteCount
      let bytes = written[start..<start + KeySlot.byteCount]
      switch slot.origin {
      case .random: continue
      case .carried(let origin):
        guard origin >= next, Array(bytes) == former[origin] else { return false }
        next = origin + 1
        kept += 1
      case .sealed(let key, let content):
        guard case .decrypted(let opened) = key.unwrap(bytes), opened.isEqual(to: content) else {
          return false
        }
      }
    }
    return kept == former.count - replaced
  }
}

/// Geometric random numbers. Their sum does not reveal how many were added at once.
enum Geometric {
  /// 0 or more: the number of failures before a success with a probability of 1 in `mean + 1`.
  static func random(mean: Int) -> Int {
    var count = 0
    while Int.random(in: 0...mean) != 0 { count += 1 }
    return count
  }
}
