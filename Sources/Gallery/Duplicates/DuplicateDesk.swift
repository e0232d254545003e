import AlbumModel
import PhotoDuplicates
import Posix

/// The search for duplicates of one session: at most one runs, on a thread of its own. Any thread.
final class DuplicateDesk: Sendable {
  private let current = Mutex<DuplicateRun?>(nil, rank: .leaf)

  /// Begins a search, unless one runs.
  func start(in space: OpenSpace) throws(Errno) {
    let known = current.withLock { $0 }
    if let known, known.progress.isRunning { return }
    let run = DuplicateRun(space)
    let isNew = current.withLock { current in
      // Of two requests at once one begins.
      if current !== known { return false }
      current = run
      return true
    }
    if isNew { try PosixThread(name: "gallery-same") { run.search() }.detach() }
  }

  /// How the last search stands; nil before the first.
  var progress: DuplicateRun.Progress? { current.withLock { $0 }?.progress }

  /// Ends the search, for good.
  func stop() { current.withLock { $0 }?.stop() }
}

/// One search over all albums.
final class DuplicateRun: Sendable {
  struct Progress: Sendable {
    var isRunning = true
    /// Files that are compared, and all that are to be.
    var done = 0
    var total = 0
    var sets: [DuplicateSet] = []
    /// Pictures without a perceptual hash.
    var unhashed = 0
  }

  private struct State {
    var progress = Progress()
    var isStopped = false
  }

  private let mount: MountedSpace
  private let albums: [SpaceIndex.Album]
  private let hidden: Set<UInt64>
  private let state = Mutex(State(), rank: .leaf)

  init(_ space: OpenSpace) {
    mount = space.mount
    albums = space.index.albums().albums
    hidden = space.index.hidden
  }

  var progress: Progress { state.withLock { $0.progress } }

  func stop() { state.withLock { $0.isStopped = true } }

  func search() {
    var search = DuplicateSearch(units())
    let sets = search.sets(from: self)
    state.withLock { state in
      state.progress.sets = sets
      state.progress.unhashed = search.unhashed
      state.progress.isRunning = false
    }
  }

  /// Two numbers for each album: the directory itself, and its Photo.
  private func units() -> [PhotoUnit] {
    albums.indices.flatMap { place -> [PhotoUnit] in
      isStopped ? [] : [0, 1].flatMap { units(inFolder: 2 * place + $0) }
    }
  }

  private func path(ofFolder number: Int) -> [FileName] {
    albums[number / 2].found.path + (number % 2 == 0 ? [] : [.photo])
  }

  private func units(inFolder number: Int) -> [PhotoUnit] {
    let found = albums[number / 2].found
    let content = found.content
    let files = (0..<content.count).filter {
      content.direct[$0] == (number % 2 == 0) && !hidden.contains(content.inodes[$0])
    }.map {
      UnitFile(name: content.name($0), inode: content.inodes[$0], size: content.sizes[$0])
    }
    guard !files.isEmpty, let folder = try? mount.folder(path(ofFolder: number)) else { return [] }
    return PhotoUnit.units(
      of: files, folder: number, album: found.path,
      identifier: { LiveTie.read(of: files[$0].name, in: folder).identifier },
      facts: { PhotoDetailsReader.facts(of: $0, in: folder) })
  }
}

extension DuplicateRun: DuplicateSource {
  var isStopped: Bool { state.withLock { $0.isStopped } }

  func isAt(_ done: Int, of total: Int) {
    state.withLock { ($0.progress.done, $0.progress.total) = (done, total) }
  }

  func open(_ file: UnitFile, in folder: Int) -> FolderFile? {
    guard let opened = try? mount.open(file.name, in: path(ofFolder: folder)),
      opened.entry.file.inode == file.inode
    else { return nil }
    return opened
  }
}
