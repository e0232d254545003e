import AlbumFileSystem
import AlbumModel
import Posix

// DESIGN section 5, "Implicit entries yield to explicit ones": tools that copy trees believe that
// a directory which they just made is empty. The kernel asks only LOOKUP, so whether an implicit
// entry is shown is decided by what the caller is about to do with the name.

/// Decides when implicit entries are not shown. Any thread; reads /proc through the inspector, so
/// never to be called with a lock held.
final class ImplicitEntries: Sendable {
  /// An album since it was made, as long as its implicit directories may still have to yield to a
  /// caller whose system call cannot be read.
  private struct Birth {
    var maker: Int32
    /// Its directories that the maker has listed, and so knows.
    var listed: Set<InodeNumber> = []
    var yielded: [InodeNumber: Set<FileName>] = [:]

    /// Whether this process is a tree copier that made the album and fills its directory without
    /// having looked.
    func isFilled(_ directory: InodeNumber, by process: Int32, _ command: String) -> Bool {
      maker == process && !listed.contains(directory)
        && ImplicitEntries.treeCopiers.contains(command)
    }
  }

  /// Programs that are known to make and fill the directories of a tree without looking. No
  /// interpreters: as many of their programs make an album and write into its Photo at once.
  static let treeCopiers: Set<String> = [
    "cp", "mv", "rsync", "tar", "bsdtar", "cpio", "unzip", "7z", "7zz", "rclone", "gio", "nautilus",
    "nemo", "caja", "thunar", "Thunar", "pcmanfm", "pcmanfm-qt", "dolphin", "kioworker",
    "kioslave5", "install",
  ]
  /// So many albums are remembered at most.
  static let birthLimit = 4096

  private let inspector: any CallerInspector
  /// A leaf: nothing else is locked under it.
  private let births = Mutex<[InodeNumber: Birth]>([:])

  init(inspector: any CallerInspector) { self.inspector = inspector }

  /// An album was made, its Photo and Thumb with it.
  func albumMade(_ album: InodeNumber, by caller: KernelCaller) {
    guard caller.thread != 0, let process = inspector.process(of: caller.thread) else { return }
    births.withLock { births in
      if births.count >= ImplicitEntries.birthLimit { births = [:] }
      births[album] = Birth(maker: process)
    }
  }

  /// Somebody opens a directory of an album to list it: who has seen what is in it knows it.
  func listed(_ directory: InodeNumber, of album: InodeNumber, by caller: KernelCaller) {
    guard births.withLock({ $0[album] }) != nil,
      let process = inspector.process(of: caller.thread)
    else { return }
    births.withLock { births in
      if births[album]?.maker == process { births[album]?.listed.insert(directory) }
    }
  }

  /// True where an entry is not there for this caller.
  func yields(
    _ entry: Entry, _ name: FileName, in parent: InodeNumber, to caller: KernelCaller
  ) -> Bool {
    if entry.isThumbnail { return yields(thumbnail: name, in: parent, of: entry.album, to: caller) }
    if entry.isImplicitDirectory {
      return yields(directory: name, in: parent, of: entry.album, to: caller)
    }
    return false
  }

  /// Whether an implicit directory of an album is not there for this caller.
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

  /// Whether an implicit thumbnail is not there for this caller.
  private func yields(
    thumbnail name: FileName, in parent: InodeNumber, of album: InodeNumber?,
    to caller: KernelCaller
  ) -> Bool {
    switch inspector.intent(of: caller.thread, toward: name) {
    case .createsExclusively: true
    case .makesDirectory, .other: false
    case .unreadable(let process, let command):
      // Whoever made the album's directories himself brings what is in them, too: `cp -a` of an
      // album is still copying its Thumb when the first photos have their thumbnails. Not once a
      // name alone: `mv` looks before it creates.
      births.withLock { births in
        guard let album, let birth = births[album], !birth.yielded.isEmpty else { return false }
        return birth.isFilled(parent, by: process, command)
      }
    }
  }
}
