import Posix

import struct Synchronization.Atomic

/// Lets the kernel cache the names of thumbnails for a moment: a file manager asks for each several times in
/// a row. They follow their photos, so requests for other names change them, and the kernel may trust none
/// of them a moment too long. A change in the space therefore ends all of them at once, before the request
/// that made it returns.
///
/// That takes a message that waits for no lock of the kernel (FUSE_NOTIFY_INC_EPOCH, Linux 6.16). An older
/// kernel caches no such name. Nor does any kernel that makes a name exclusively: it asks again then, so
/// `ImplicitEntries` decides as ever.
///
/// Any thread.
final class ThumbnailNames: Sendable {
  /// The minor number of the protocol that has the message.
  private static let firstMinor: UInt32 = 44
  static let lifetime = Duration.seconds(10)

  private let isSupported = Atomic(false)
  private let link = Mutex<SessionLink?>(nil, rank: .leaf)
  /// The number of changes so far.
  private let changes = Atomic<UInt64>(0)
  /// True if the kernel may cache a name since the last message.
  private let isCached = Atomic(false)

  /// The kernel's protocol, from INIT.
  func agreed(minor: UInt32) {
    isSupported.store(minor >= ThumbnailNames.firstMinor, ordering: .releasing)
  }

  func start(_ link: SessionLink) { self.link.withLock { $0 = link } }

  /// No message is sent after that.
  func stop() { link.withLock { $0 = nil } }

  /// False if the driver cannot report changes to the kernel.
  var mayBeCached: Bool { isSupported.load(ordering: .acquiring) }

  /// To be read before the name is looked up.
  var changeCount: UInt64 { changes.load(ordering: .sequentiallyConsistent) }

  /// For how many seconds the kernel may cache a name that was found when `changeCount` was `count`.
  ///
  /// Either this sees a change that happened meanwhile, or the change sees that a name may be cached.
  func lifetime(since count: UInt64) -> Double {
    isCached.store(true, ordering: .sequentiallyConsistent)
    return changes.load(ordering: .sequentiallyConsistent) == count
      ? Double(ThumbnailNames.lifetime.components.seconds) : 0
  }

  /// Something changed in the space.
  func changed() {
    changes.wrappingAdd(1, ordering: .sequentiallyConsistent)
    guard isCached.exchange(false, ordering: .sequentiallyConsistent) else { return }
    link.withLock { $0?.expireAllNames() }
  }
}
