internal import Posix

/// Parts of objects in memory, the least recently used of which go first. Several threads that want the same
/// part load it once.
final class BlockCache: Sendable {
  struct Key: Hashable {
    let name: String
    let number: Int64
  }

  private struct Entry {
    /// nil while a thread loads it.
    var bytes: [UInt8]?
    var lastUse: Int
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    var byteCount = 0
    var uses = 0
  }

  private let state = Monitor(State(), rank: .leaf)
  private let limit: Int

  /// `limit` is in bytes. What is being loaded comes on top.
  init(limit: Int) { self.limit = limit }

  /// Returns the part, and calls `load` where it is not there. A failure is not kept.
  func bytes(_ key: Key, _ load: () throws(ObjectError) -> [UInt8]) throws(ObjectError) -> [UInt8] {
    if let known = known(key) { return known }
    do throws(ObjectError) {
      let bytes = try load()
      keep(bytes, key)
      return bytes
    } catch {
      state.withLock { $0.entries[key] = nil }
      state.notifyAll()
      throw error
    }
  }

  /// Makes the caller the one who loads parts behind one: as many as are not there, up to one that is, at
  /// most `count`. He calls `take` or `giveUp` for each.
  func claim(behind key: Key, atMost count: Int) -> [Key] {
    state.withLock { state in
      var claimed: [Key] = []
      while claimed.count < count {
        let next = Key(name: key.name, number: key.number + Int64(claimed.count) + 1)
        if state.entries[next] != nil { break }
        state.uses += 1
        state.entries[next] = Entry(bytes: nil, lastUse: state.uses)
        claimed.append(next)
      }
      return claimed
    }
  }

  /// Leaves parts that were claimed to others.
  func giveUp(_ keys: [Key]) {
    state.withLock { state in
      for key in keys where state.entries[key]?.bytes == nil { state.entries[key] = nil }
    }
    state.notifyAll()
  }

  /// Takes over a part that the caller has claimed and loaded.
  func take(_ key: Key, _ bytes: [UInt8]) { keep(bytes, key) }

  /// True if the part is there, or is being loaded.
  func has(_ key: Key) -> Bool { state.withLock { $0.entries[key] != nil } }

  /// Puts a part there that was loaded otherwise.
  func replace(_ key: Key, _ bytes: [UInt8]) {
    state.withLock { state in
      state.uses += 1
      let present = state.entries[key]?.bytes
      state.entries[key] = Entry(bytes: present, lastUse: state.uses)
    }
    keep(bytes, key)
  }

  /// Forgets all parts of an object, which has another content now.
  func forget(_ name: String) {
    state.withLock { state in
      for (key, entry) in state.entries where key.name == name {
        state.byteCount -= entry.bytes?.count ?? 0
        state.entries[key] = nil
      }
    }
    // Whoever waits for one loads it himself.
    state.notifyAll()
  }

  /// Forgets all parts of all objects.
  func forgetAll() {
    state.withLock { ($0.entries, $0.byteCount) = ([:], 0) }
    state.notifyAll()
  }

  /// The part; nil if the caller must load it. Waits while another thread loads it.
  private func known(_ key: Key) -> [UInt8]? {
    state.waiting { state -> [UInt8]?? in
      state.uses += 1
      guard let entry = state.entries[key] else {
        state.entries[key] = Entry(bytes: nil, lastUse: state.uses)
        return .some(nil)
      }
      guard let bytes = entry.bytes else { return nil }
      state.entries[key]?.lastUse = state.uses
      return .some(bytes)
    }
  }

  private func keep(_ bytes: [UInt8], _ key: Key) {
    state.withLock { state in
      // It was forgotten while it was loaded.
      if state.entries[key] == nil { return }
      state.byteCount += bytes.count - (state.entries[key]?.bytes?.count ?? 0)
      state.entries[key]?.bytes = bytes
      while state.byteCount > limit, let oldest = oldest(of: state), oldest != key {
        state.byteCount -= state.entries.removeValue(forKey: oldest)?.bytes?.count ?? 0
      }
    }
    state.notifyAll()
  }

  /// A linear search: there are less than a hundred, and each is paid for by a request.
  private func oldest(of state: State) -> Key? {
    state.entries.filter { $0.value.bytes != nil }.min { $0.value.lastUse < $1.value.lastUse }?.key
  }
}
