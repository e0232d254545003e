internal import AlbumFormat
package import AlbumSecrets

// Several passwords of one space: a slot for each, any of which unlocks it. The slot mark identifies the
// slots of a space that one of its passwords has unlocked.
extension Store {
  /// Seals another slot for the space, with a password of its own; the present ones stay. Returns how many
  /// slots unlock the space now. Throws like `finish`.
  package func add(_ new: borrowing SecretBytes, to change: PasswordChange) throws(StoreError)
    -> Int
  {
    try Store.requireUsable(newPassword: new)
    let known =
      switch change.former {
      case .password(_, let lines): lines
      case .recoveryKey: derivations.filter { $0.cost.isAtLeast(SealingFloor.current) }
      }
    let seal = try NewSeal(self, new, known: known)
    var count = 0
    try KeyRing.change(self, appending: seal.newLine) { slots throws(StoreError) in
      let content = try slots.content(of: change.former)
      try slots.requireUnused(seal.keys)
      slots.insert(seal.key, content.vouching(for: seal.vouched))
      count = slots.places(of: content.spaceKeys(), []).count
    }
    return count
  }

  /// Which passwords of a space lose their slots.
  package enum Removal: Sendable {
    /// The one that unlocked the space.
    case given
    /// All but that one.
    case others
  }

  /// The outcome of `remove`, in slots of the space.
  package struct Removed: Equatable, Sendable {
    package var removed: Int
    package var left: Int
  }

  /// Makes slots of the space random, so that their passwords no longer unlock it. An old copy of `keys`
  /// keeps them. Throws `.unsupportedFeature` if no password would be left, `.wrongPassword` if the password
  /// was changed meanwhile, and the errors of the disk. The recovery key unlocks no slot, so the space must
  /// have been unlocked by a password.
  package func remove(_ removal: Removal, of change: PasswordChange) throws(StoreError) -> Removed {
    guard case .password(let former, _) = change.former else {
      preconditionFailure("the recovery key unlocks no slot")
    }
    var outcome = Removed(removed: 0, left: 0)
    try KeyRing.change(self) { slots throws(StoreError) in
      let found = try slots.find(former)
      let given = Set(found.places)
      let others = slots.places(of: found.content.spaceKeys(), []).filter { !given.contains($0) }
      switch removal {
      case .given:
        if others.isEmpty { throw Store.onlyPassword }
        for place in given { slots.scrap(place) }
        outcome = Removed(removed: given.count, left: others.count)
      case .others:
        for place in others { slots.scrap(place) }
        outcome = Removed(removed: others.count, left: given.count)
      }
    }
    return outcome
  }

  private static var onlyPassword: StoreError {
    StoreError(
      .unsupportedFeature,
      "nothing else unlocks the space, so this stays; change it, or destroy the space")
  }
}

extension KeySlots {
  /// The content for another slot of the space. Throws like `find`.
  fileprivate func content(of former: Store.PasswordChange.Former) throws(StoreError) -> SlotContent
  {
    switch former {
    case .password(let keys, _): try find(keys).content
    case .recoveryKey(let keys): SlotContent(keys)
    }
  }
}
