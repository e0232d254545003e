internal import AlbumFormat
internal import AlbumModel
package import AlbumSecrets
internal import Posix

/// Turns a space into unused slots and chaff: random bytes without an owner. Holds the space's lock from the
/// beginning, so that no session mounts the space in the meantime.
///
/// Its slots go first. The recovery key, or the password with an old copy of `keys`, still decrypts its
/// segments; only removing them ends that.
package final class SpaceDestruction: Sendable {
  private let store: Store
  private let keys: SpaceKeys
  private let passwordKeys: [PasswordKey]
  private let lock: SpaceLock
  private let segments: Set<SegmentName>

  /// The number of the space's segments, and their size.
  package var segmentCount: Int { segments.count }
  package var byteCount: Int64 {
    Int64(segments.count) * Int64(store.configuration.segmentSize)
  }

  /// The space's name in the records of `mount --remember`.
  package var memoryName: String { keys.memoryName }

  /// Changes nothing yet. Throws like `unlock`, and `.inUse` if the space is mounted.
  package convenience init(
    _ store: Store, password: borrowing SecretBytes
  ) throws(StoreError) {
    if password.isEmpty { throw StoreError(.emptyPassword, "the password is empty") }
    let derived = try store.passwordKeys(password)
    let found = try KeyRing.read(store).find(derived)
    store.warn(of: found)
    try self.init(store, found.content.spaceKeys(), derived)
  }

  /// The same with the recovery key. Throws `.wrongPassword` if the store has nothing of its space.
  package convenience init(
    _ store: Store, recoveryKey: borrowing SecretBytes
  ) throws(StoreError) {
    let keys = try store.unlock(recoveryKey: recoveryKey)
    try self.init(store, keys, [])
    if segments.isEmpty, try KeyRing.read(store).places(of: keys, []).isEmpty {
      throw Store.nothingOfSpace
    }
  }

  private init(
    _ store: Store, _ keys: SpaceKeys, _ passwordKeys: [PasswordKey]
  ) throws(StoreError) {
    lock = try SpaceLock.take(store: store, keys: keys, readOnly: false)
    segments = try store.segments(of: keys)
    (self.store, self.keys, self.passwordKeys) = (store, keys, passwordKeys)
  }

  /// Makes every slot random that belongs to the space or that the password unlocks. All other slots stay as
  /// they are, byte for byte.
  package func destroySlots() throws(StoreError) {
    try KeyRing.change(store) { slots throws(StoreError) in
      for place in slots.places(of: keys, passwordKeys) { slots.scrap(place) }
    }
  }

  /// Removes the space's segments, durably. If it throws, the remaining ones are chaff.
  package func removeSegments() throws(StoreError) {
    // In a copy, the times of the folders would show where segments vanished.
    defer { RestingTimes.settle(store.directory) }
    for name in segments {
      let path = SegmentPath.path(of: name)
      do throws(Errno) { try store.directory.remove(path) } catch {
        if error != .noEntry { throw StoreError(removing: path, error) }
      }
    }
    for folder in Set(segments.map(SegmentPath.directory(of:))).sorted() {
      do throws(Errno) { try store.directory.syncDirectory(folder) } catch {
        throw StoreError(syncing: folder, error)
      }
    }
  }
}
