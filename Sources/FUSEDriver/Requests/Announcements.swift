internal import AlbumFileSystem
internal import AlbumModel
internal import Glibc
internal import Posix

import struct Synchronization.Atomic

/// Shows new thumbnails to programs that watch a directory of Thumb, such as a file manager with an open
/// window.
///
/// inotify(7) reports system calls, and no messages of a FUSE daemon. So a thread of the daemon creates each
/// new thumbnail anew through the mount: the driver hides the name from this thread's look-up, and replies to
/// its CREATE with the thumbnail that is there. The kernel then reports a new file. Nothing else changes.
///
/// A call through the mount makes the mount busy. So the thread makes one only for a directory that a process
/// watches, and none after `pause`. If the daemon is killed meanwhile, the thread waits in the kernel until
/// the connection ends, and the connection ends when nobody has its descriptor any more. So the thread has
/// none.
///
/// Any thread.
final class Announcements: Sendable {
  private struct State {
    var isOpen = false
    var pauses = 0
    /// Photos with a new thumbnail.
    var photos: Set<InodeNumber> = []
    /// The name that the thread creates at this moment.
    var current: DirectoryPlace?
    var thread: PosixThread?
  }

  /// A leaf; never held during a system call.
  private let state = Monitor(State(), rank: .leaf)
  /// The thread's number in the requests of the kernel, while it calls through the mount; otherwise 0.
  private let caller = Atomic<Int32>(0)

  /// The thread waits so long for more thumbnails, and at least so many times as long as it last looked for
  /// watches: a look visits all open files of all processes.
  private static let (batching, rest) = (Duration.milliseconds(500), 30)

  /// Begins to announce in a mount.
  func start(
    _ fileSystem: FileSystem, mountPoint: String, device: DeviceNumber
  ) throws(Errno) {
    try state.withLock { state throws(Errno) in
      state.isOpen = true
      state.thread = try PosixThread(name: "fuse-announce") { [self] in
        do throws(Errno) { try PosixThread.separateDescriptors() } catch { return }
        run(fileSystem, mountPoint, device)
      }
    }
  }

  /// Ends the thread. It may wait in the kernel for the reply to a request, so the session must still serve
  /// requests, or its connection must have ended.
  func stop() {
    let thread = state.withLock { state in
      state.isOpen = false
      state.photos = []
      return state.thread.take()
    }
    state.notifyAll()
    thread?.join()
  }

  /// A photo has a new thumbnail. Returns at once.
  func add(_ photo: InodeNumber) {
    let isNews = state.withLock { $0.isOpen && $0.photos.insert(photo).inserted }
    if isNews { state.notifyAll() }
  }

  /// Makes no call through the mount until `resume`, while `albumfs umount` unmounts it. Waits for the
  /// present call, at most a second.
  func pause() {
    state.withLock { $0.pauses += 1 }
    _ = state.waiting(until: MonotonicTime.now + .seconds(1)) { $0.current == nil ? () : nil }
  }

  func resume() {
    state.withLock { $0.pauses -= 1 }
    state.notifyAll()
  }

  /// True if a request comes from the thread itself. Takes no lock, because every look-up asks.
  func isCaller(_ other: KernelCaller) -> Bool {
    let thread = caller.load(ordering: .relaxed)
    return thread != 0 && thread == other.thread
  }

  /// True if the thread creates this name at this moment.
  func isCurrent(_ name: FileName, in directory: InodeNumber) -> Bool {
    state.withLock { $0.current?.name == name && $0.current?.parent == directory }
  }

  // MARK: The thread

  private func run(_ fileSystem: FileSystem, _ mountPoint: String, _ device: DeviceNumber) {
    var pause = Announcements.batching
    while let photos = next(after: pause) {
      let start = MonotonicTime.now
      let watched = InotifyWatches.inodes(on: device)
      pause = max(Announcements.batching, (MonotonicTime.now - start) * Announcements.rest)
      if watched.isEmpty { continue }
      let thumbnails = Set(photos.compactMap(fileSystem.thumbnail))
      for directory in watched where !thumbnails.isEmpty {
        guard let names = try? fileSystem.names(of: thumbnails, shownIn: directory), !names.isEmpty,
          let path = try? fileSystem.path(of: directory)
        else { continue }
        // Names need not be UTF-8.
        let place = PlainPath(bytes: Array("\(mountPoint)/".utf8) + path)
        for name in names {
          announce(DirectoryPlace(name: name, parent: directory), place, device)
        }
      }
    }
  }

  /// Waits for new thumbnails, and then for more. Returns nil after `stop`.
  private func next(after pause: Duration) -> Set<InodeNumber>? {
    let isOpen = state.waiting { state -> Bool? in
      if !state.isOpen { return false }
      return state.photos.isEmpty ? nil : true
    }
    if !isOpen { return nil }
    let deadline = MonotonicTime.now + pause
    _ = state.waiting(until: deadline) { $0.isOpen ? nil : () }
    return state.withLock { state in
      defer { state.photos = [] }
      return state.isOpen ? state.photos : nil
    }
  }

  /// Makes the kernel report that the name was created.
  private func announce(_ place: DirectoryPlace, _ path: PlainPath, _ device: DeviceNumber) {
    let mayGo = state.waiting { state -> Bool? in
      if !state.isOpen { return false }
      if state.pauses > 0 { return nil }
      state.current = place
      return true
    }
    if !mayGo { return }
    caller.store(PosixThread.number, ordering: .relaxed)
    defer {
      caller.store(0, ordering: .relaxed)
      state.withLock { $0.current = nil }
      state.notifyAll()
    }
    // Without the mount, the path may lead to a directory below it.
    guard let directory = try? FileDescriptor(open: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
      PathCalls.device(of: "/proc/thread-self/fd/\(directory.rawValue)") == device
    else { return }
    let name = PlainPath(bytes: place.name.bytes)
    _ = try? FileDescriptor(open: name, in: directory, O_RDONLY | O_CREAT)
  }
}
