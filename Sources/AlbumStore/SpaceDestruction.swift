internal import AlbumFormat
internal import AlbumModel
package import AlbumSecrets
internal import Posix

/// Makes a space into what unused slots and chaff are: random bytes that nobody opens. Holds the
/// space's lock from the beginning, so that it is not mounted and nobody mounts it meanwhile.
///
/// Its slots go first. Whoever has the recovery key, or the password and an old copy of `keys`, opens
/// its segments even then; only removing them ends that.
package final class SpaceDestruction: Sendable {
  private let store: Store
  private let keys: SpaceKeys
  private let passwordKeys: [PasswordKey]
  private let lock: SpaceLock
  private let segments: Set<SegmentName>

  /// The segments that are the space's, and what they take.
  package var segmentCount: Int { segments.count }
  package var byteCount: Int64 {
    Int64(segments.count) * Int64(store.configuration.segmentSize)
  }

  /// What a machine that remembers the space calls it.
  package var memoryName: String { keys.memoryName }

  /// Changes nothing yet. Throws as `unlock` does, and `.inUse` where the space is mounted.
  package convenience init(
    _ store: Store, password: borrowing SecretBytes
  ) throws(StoreError) {
    if password.isEmpty { throw StoreError(.emptyPassword, "the password is empty") }
    let derived = try store.passwordKeys(password)
    let found = try KeyRing.read(store).find(derived)
    store.warn(of: found)
    try self.init(store, found.content.spaceKeys(), derived)
  }

  /// The same by the recovery key. Throws `.wrongPassword` where the store has nothing of its space.
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

  /// Makes every slot random that is the space's or that the password opens. All others stay as they
  /// are, byte for byte.
  package func destroySlots() throws(StoreError) {
    try KeyRing.change(store) { slots throws(StoreError) in
      for place in slots.places(of: keys, passwordKeys) { slots.scrap(place) }
    }
  }

  /// Removes the space's segments, durably. Where it throws, those that are left are chaff.
  package func removeSegments() throws(StoreError) {
    // The times of the folders would tell, in one copy, where segments went.
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
