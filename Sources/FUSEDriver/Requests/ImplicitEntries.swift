import AlbumFileSystem
import AlbumModel
import Posix

// Implicit entries yield to explicit ones: tools that copy trees expect a directory that they just made to
// be empty. The kernel sends only LOOKUP, so the caller's system call decides whether it sees an implicit
// entry.

/// Decides when to hide implicit entries. Any thread. It reads /proc through the inspector, so the caller
/// must hold no lock.
final class ImplicitEntries: Sendable {
  /// A new album, while its implicit directories may still have to yield to a caller whose system call
  /// cannot be read.
  private struct Birth {
    var maker: Int32
    /// Its directories that the maker has listed, and so knows.
    var listed: Set<InodeNumber> = []
    var yielded: [InodeNumber: Set<FileName>] = [:]

    /// True if this process is a tree copier that made the album and fills its directory without having
    /// listed it.
    func isFilled(_ directory: InodeNumber, by process: Int32, _ command: String) -> Bool {
      maker == process && !listed.contains(directory)
        && ImplicitEntries.treeCopiers.contains(command)
    }
  }

  /// Programs that make and fill the directories of a tree without looking. No interpreters: just as many of
  /// their programs make an album and write into its Photo at once.
  static let treeCopiers: Set<String> = [
    "cp", "mv", "rsync", "tar", "bsdtar", "cpio", "unzip", "7z", "7zz", "rclone", "gio", "nautilus",
    "nemo", "caja", "thunar", "Thunar", "pcmanfm", "pcmanfm-qt", "dolphin", "kioworker",
    "kioslave5", "install",
  ]
  /// The greatest number of albums to remember.
  static let birthLimit = 4096

  private let inspector: any CallerInspector
  /// A leaf: nothing else is locked under it.
  private let births = Mutex<[InodeNumber: Birth]>([:], rank: .leaf)

  init(inspector: any CallerInspector) { self.inspector = inspector }

  /// A caller made an album, with its Photo and Thumb.
  func albumMade(_ album: InodeNumber, by caller: KernelCaller) {
    guard caller.thread != 0, let process = inspector.process(of: caller.thread) else { return }
    births.withLock { births in
      if births.count >= ImplicitEntries.birthLimit { births = [:] }
      births[album] = Birth(maker: process)
    }
  }

  /// A caller opens a directory of an album to list it, and so knows its entries.
  func listed(_ directory: InodeNumber, of album: InodeNumber, by caller: KernelCaller) {
    guard births.withLock({ $0[album] }) != nil,
      let process = inspector.process(of: caller.thread)
    else { return }
    births.withLock { births in
      if births[album]?.maker == process { births[album]?.listed.insert(directory) }
    }
  }

  /// True while the process that made the album may still fill it.
  func isBeingFilled(_ album: InodeNumber) -> Bool {
    births.withLock { births in
      guard let maker = births[album]?.maker else { return false }
      if inspector.isRunning(maker) { return true }
      births[album] = nil
      return false
    }
  }

  /// True if this caller must not see an implicit entry.
  func yields(
    _ entry: Entry, _ name: FileName, in parent: InodeNumber, to caller: KernelCaller
  ) -> Bool {
    if entry.isThumbnail { return yields(thumbnail: name, in: parent, of: entry.album, to: caller) }
    if entry.isImplicitDirectory {
      return yields(directory: name, in: parent, of: entry.album, to: caller)
    }
    return false
  }

  /// True if this caller must not see an implicit directory of an album.
  private func yields(
    directory name: FileName, in parent: InodeNumber, of album: InodeNumber?,
    to caller: KernelCaller
  ) -> Bool {
    switch inspector.intent(of: caller.thread, toward: name) {
    case .makesDirectory: true
    case .createsExclusively, .other: false
    case .unreadable(let process, let command):
      births.withLock { births in
        guard let album, births[album]?.isFilled(parent, by: process, command) ?? false else {
          return false
        }
        return births[album]!.yielded[parent, default: []].insert(name).inserted
      }
    }
  }

  /// True if this caller must not see an implicit thumbnail.
  private func yields(
    thumbnail name: FileName, in parent: InodeNumber, of album: InodeNumber?,
    to caller: KernelCaller
  ) -> Bool {
    switch inspector.intent(of: caller.thread, toward: name) {
    case .createsExclusively: true
    case .makesDirectory, .other: false
    case .unreadable(let process, let command):
      // A process that made the album's directories itself also brings their files: `cp -a` of an album
      // still copies its Thumb when the first photos have their thumbnails. Once for each name is not
      // enough: `mv` looks before it creates.
      births.withLock { births in
        guard let album, let birth = births[album], !birth.yielded.isEmpty else { return false }
        return birth.isFilled(parent, by: process, command)
      }
    }
  }
}
