package import AlbumFormat
internal import AlbumModel
package import AlbumSecrets

// Changes of `keys`: new slots, and slots sealed anew. `SealingLine` alone decides their cost, never the
// conf.
extension Store {
  /// Adds a space. `birth` writes its first journal segment before the slot is written, so that a slot never
  /// unlocks a missing space. It unlocks no other slot, and so trusts every line of the conf that is strong
  /// enough. The cipher must be available (`CipherKind.isAvailable`). Throws `.alreadyExists` for a password
  /// that unlocks a space already, `.emptyPassword`, `.costRefused` if the conf has no room for a line that
  /// is strong enough, and the errors of `birth`.
  package func addSpace(
    password: borrowing SecretBytes, cipher: CipherKind = .xchacha20Poly1305,
    birth: (Store, SpaceKeys) throws(StoreError) -> Void
  ) throws(StoreError) {
    try Store.requireUsable(newPassword: password)
    warnOfWeakLines()
    let strong = derivations.filter { $0.cost.isAtLeast(SealingFloor.current) }
    let seal = try NewSeal(self, password, known: strong)
    try KeyRing.change(self, appending: seal.newLine) { slots throws(StoreError) in
      try slots.requireUnused(seal.keys)
      let keys = SpaceKeys(cipher: cipher)
      try birth(self, keys)
      slots.insert(seal.key, SlotContent(keys).vouching(for: seal.vouched))
    }
  }

  /// A space that a secret has unlocked, and whose passwords are to be changed.
  package struct PasswordChange: Sendable {
    enum Former: Sendable {
      case password([PasswordKey], lines: [KeyDerivation])
      case recoveryKey(SpaceKeys)
    }
    let former: Former
  }

  /// Unlocks a space with its present password, so that a mistyped one fails before anybody chooses a new
  /// one. Throws like `unlock`.
  package func passwordChange(old: borrowing SecretBytes) throws(StoreError) -> PasswordChange {
    if old.isEmpty { throw StoreError(.emptyPassword, "the password is empty") }
    let former = try passwordKeys(old)
    let opened = try KeyRing.read(self).find(former)
    warn(of: opened)
    return PasswordChange(
      former: .password(former, lines: derivations.filter(opened.vouches(for:))))
  }

  /// Finds the space of a recovery key. Throws `.wrongPassword` if the store has nothing of such a space.
  package func passwordChange(recoveryKey: borrowing SecretBytes) throws(StoreError)
    -> PasswordChange
  {
    let keys = try unlock(recoveryKey: recoveryKey)
    if try KeyRing.readOrBegin(self).places(of: keys, []).isEmpty, try segments(of: keys).isEmpty {
      throw Store.nothingOfSpace
    }
    warnOfWeakLines()
    return PasswordChange(former: .recoveryKey(keys))
  }

  /// Seals the slot of the old password anew with another one. The space and its keys stay. An old copy of
  /// `keys` keeps the old password. Other passwords of the space stay too, unless the recovery key unlocked
  /// it: albumfs cannot know which of them is forgotten. Returns the number of others that no longer unlock
  /// the space. Throws like `addSpace`, and `.wrongPassword` if the password was changed in the meantime.
  @discardableResult
  package func finish(_ change: PasswordChange, new: borrowing SecretBytes) throws(StoreError)
    -> Int
  {
    try Store.requireUsable(newPassword: new)
    switch change.former {
    case .password(let former, let lines):
      let seal = try NewSeal(self, new, known: lines)
      try KeyRing.change(self, appending: seal.newLine) { slots throws(StoreError) in
        let found = try slots.find(former)
        try slots.requireUnused(seal.keys)
        for place in found.places {
          slots.replace(place, seal.key, found.content.vouching(for: seal.vouched))
        }
      }
      return 0
    case .recoveryKey(let keys):
      return try finish(keys, new)
    }
  }

  /// Seals one slot of the recovery key's space anew and makes the others random, whatever their passwords
  /// are. A space without a slot in `keys` gets one, and a missing `keys` is made anew. The old slot's other
  /// content cannot be decrypted, so the new slot has default content. Returns the number of slots that it
  /// made random.
  private func finish(_ keys: SpaceKeys, _ new: borrowing SecretBytes) throws(StoreError) -> Int {
    let strong = derivations.filter { $0.cost.isAtLeast(SealingFloor.current) }
    let seal = try NewSeal(self, new, known: strong)
    let content = SlotContent(keys).vouching(for: seal.vouched)
    var scrapped = 0
    try KeyRing.change(self, appending: seal.newLine, mayBegin: true) { slots throws(StoreError) in
      try slots.requireUnused(seal.keys)
      let places = slots.places(of: keys, []).shuffled()
      if let place = places.first {
        slots.replace(place, seal.key, content)
      } else {
        slots.insert(seal.key, content)
      }
      for place in places.dropFirst() { slots.scrap(place) }
      scrapped = max(0, places.count - 1)
    }
    return scrapped
  }

  /// The names of a space's segments that are there, of all kinds and sessions. A stranger's name is
  /// taken for one of them once in 2^45 or so.
  func segments(of keys: SpaceKeys) throws(StoreError) -> Set<SegmentName> {
    try directory.segmentNames().filter { keys.segment(named: $0) != nil }
  }

  static var nothingOfSpace: StoreError {
    StoreError(.wrongPassword, "nothing in this store belongs to the space of this recovery key")
  }

  static func requireUsable(newPassword: borrowing SecretBytes) throws(StoreError) {
    if newPassword.isEmpty {
      throw StoreError(.emptyPassword, "the new password is empty; choose one that is not")
    }
  }
}

/// The keys and lines for a new password.
struct NewSeal {
  /// The password's keys for every line, to find out whether it is in use.
  let keys: [PasswordKey]
  /// Seals the slot.
  let key: PasswordKey
  /// The lines that the slot trusts.
  let vouched: [KeyDerivation]
  /// The line to append to the conf first.
  let newLine: KeyDerivation?

  /// `known` are the lines of the conf that the caller trusts.
  init(
    _ store: Store, _ password: borrowing SecretBytes, known: [KeyDerivation]
  ) throws(StoreError) {
    let line = try SealingLine(known: known, in: store.derivations)
    var keys = try store.passwordKeys(password)
    if line.isNew { keys.append(try store.passwordKey(password, line.derivation)) }
    self.keys = keys
    // The line is one of these, or was appended just now.
    key = keys.first { $0.derivation == line.derivation }!
    vouched = [line.derivation] + known
    newLine = line.isNew ? line.derivation : nil
    store.warnWhereWeak(line.derivation)
  }
}
