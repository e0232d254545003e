package import AlbumModel

/// Who asks: from the header of a FUSE request.
package struct Caller: Sendable {
  package var user: UInt32
  package var group: UInt32
  /// Thread id of the caller in the daemon's pid namespace; 0 when it lies outside.
  package var thread: Int32
  package init(user: UInt32, group: UInt32, thread: Int32) {
    self.user = user
    self.group = group
    self.thread = thread
  }

  /// albumfs itself, for what nobody asked for.
  package static let daemon = Caller(user: 0, group: 0, thread: 0)
}

/// What a thread that waits for a LOOKUP is about to do with the name it looks up.
package enum CallerIntent: Equatable, Sendable {
  /// In mkdir or mkdirat, with that name as the last component of its path.
  case makesDirectory
  /// In an open with O_CREAT|O_EXCL, link, symlink, mknod, or rename with NOREPLACE.
  case createsExclusively
  /// In any other call.
  case other
  /// Its system call cannot be read: all that is known is its process and that one's name.
  case unreadable(process: Int32, command: String)
}

/// Reads what a calling thread is doing. Called only where it decides something, since it costs
/// two reads under /proc.
package protocol CallerInspector: Sendable {
  func intent(of thread: Int32, toward name: FileName) -> CallerIntent
  /// The process that a thread belongs to, nil where it cannot be told.
  func process(of thread: Int32) -> Int32?
}

/// What the kernel's caches must forget. Calls return at once and may come with locks held: the
/// notifications go out later, from a thread of their own.
package protocol KernelNotifier: Sendable {
  /// The name in this directory, and whether it exists.
  func forget(entry name: FileName, in directory: InodeNumber)
}
