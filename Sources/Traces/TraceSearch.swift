import AlbumModel
import Posix

/// One look for the traces of a tree. With `isCleaning` it removes what it finds at the same time, so that it
/// never removes anything on the strength of an earlier look.
package struct TraceSearch {
  package let tree: TracedTree
  package let places: TracePlaces
  package let isCleaning: Bool
  package private(set) var traces: [Trace] = []
  package private(set) var unseen: [UnseenFile] = []
  /// False if a limit ended the search early.
  package var isComplete = true

  private var limits: TraceLimits
  /// Removes what gvfs knows.
  let gvfs: any GvfsRemover

  package static func run(
    _ tree: TracedTree, in places: TracePlaces, cleaning: Bool, limits: TraceLimits = .thorough,
    gvfs: any GvfsRemover = GvfsDaemon()
  ) -> TraceSearch {
    var search = TraceSearch(
      tree: tree, places: places, isCleaning: cleaning, limits: limits, gvfs: gvfs)
    search.lookAtThumbnails()
    search.lookAtRecentFiles()
    search.lookAtViewers()
    search.lookAtSettings()
    search.lookAtDatabases()
    search.lookAtUnprovenPictures()
    search.lookAtTrash()
    search.lookAtGvfsMetadata()
    return search
  }

  private init(
    tree: TracedTree, places: TracePlaces, isCleaning: Bool, limits: TraceLimits,
    gvfs: any GvfsRemover
  ) {
    self.tree = tree
    self.places = places
    self.isCleaning = isCleaning
    self.limits = limits
    self.gvfs = gvfs
  }

  // MARK: Results

  /// Records a trace; when cleaning, removes it first.
  mutating func add(
    _ kind: Trace.Kind, in file: String, about path: [UInt8]?, removing: () throws(Errno) -> Void
  ) {
    var state = Trace.State.found
    if isCleaning {
      do throws(Errno) {
        try removing()
        state = .removed
      } catch {
        state = .stays(.error(error))
      }
    }
    add(Trace(kind: kind, file: file, path: path, state: state))
  }

  mutating func add(_ trace: Trace) { traces.append(trace) }

  mutating func passOver(_ file: String, _ reason: UnseenFile.Reason) {
    unseen.append(UnseenFile(file: file, reason: reason))
  }

  private mutating func passOver(_ file: String, _ error: Errno) {
    switch error {
    case .noEntry: break
    case .accessDenied: passOver(file, .anotherUsers)
    case .tooBig: passOver(file, .tooLarge)
    default: passOver(file, .error(error))
    }
  }

  // MARK: Files

  /// Counts one file or directory; false if the limits are reached.
  private mutating func mayOpen() -> Bool {
    let isLate = limits.deadline.map { MonotonicTime.now > $0 } ?? false
    if limits.files <= 0 || isLate {
      isComplete = false
      return false
    }
    limits.files -= 1
    return true
  }

  /// nil if the directory is missing or must not be read.
  mutating func directory(_ path: String) -> OwnedDirectory? {
    guard mayOpen() else { return nil }
    do throws(Errno) { return try OwnedDirectory(path: path, user: places.user) } catch {
      passOver(path, error == .notDirectory ? .noEntry : error)
      return nil
    }
  }

  /// A directory such as /tmp, where everybody may create files.
  mutating func sharedDirectory(_ path: String) -> OwnedDirectory? {
    guard mayOpen() else { return nil }
    return try? OwnedDirectory(shared: path, user: places.user)
  }

  mutating func directory(_ name: FileName, in parent: OwnedDirectory, at path: String)
    -> OwnedDirectory?
  {
    guard mayOpen() else { return nil }
    do throws(Errno) { return try OwnedDirectory(name, in: parent) } catch {
      passOver("\(path)/\(name.display)", error)
      return nil
    }
  }

  /// A directory holds no more names than this, or the rest stays unread.
  private static let nameLimit = 1_000_000

  mutating func names(in directory: OwnedDirectory, at path: String) -> [FileName] {
    do throws(Errno) {
      let (names, isWhole) = try directory.names(atMost: TraceSearch.nameLimit)
      if !isWhole { isComplete = false }
      return names.sorted()
    } catch {
      passOver(path, error)
      return []
    }
  }

  mutating func open(_ name: FileName, in directory: OwnedDirectory, at path: String) -> OwnedFile?
  {
    guard mayOpen() else { return nil }
    do throws(Errno) { return try directory.open(name) } catch {
      passOver("\(path)/\(name.display)", error)
      return nil
    }
  }

  mutating func content(_ file: OwnedFile, at path: String, atMost limit: Int) -> [UInt8]? {
    do throws(Errno) { return try file.content(atMost: limit) } catch {
      passOver(path, error)
      return nil
    }
  }
}

extension FileName {
  func hasSuffix(_ suffix: String) -> Bool { bytes.reversed().starts(with: suffix.utf8.reversed()) }
}
