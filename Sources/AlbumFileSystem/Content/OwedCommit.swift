import struct Synchronization.Atomic

/// Tells which closes of an open inode owe a commit: those that follow a change of the inode beside its
/// content, through whichever handle or path it came. Any thread.
struct OwedCommit: ~Copyable, Sendable {
  private let changes = Atomic<UInt64>(0)
  private let committed = Atomic<UInt64>(0)

  /// Counts a change that is in the catalog.
  func add() { changes.wrappingAdd(1, ordering: .releasing) }

  /// Calls `commit` if a change came before this call and no commit has covered it.
  func settle(_ commit: () throws(FSError) -> Void) throws(FSError) {
    let seen = changes.load(ordering: .acquiring)
    if committed.load(ordering: .acquiring) >= seen { return }
    try commit()
    _ = committed.max(seen, ordering: .releasing)
  }
}
