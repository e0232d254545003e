import AlbumModel
import ControlProtocol
import Fetching
import Glibc
import Posix

/// Copies files into albums, and with `isMove` removes the originals. Never loses a file: a copy gets its
/// name when it is complete; it counts as imported when the space has synced it; an original goes only after
/// that, when its copy was read back and is the same, and if nobody changed it meanwhile.
///
/// Whatever fails, or an interruption, leaves every original without such a copy. Run it again to continue:
/// it skips what the album has already.
struct Importer {
  struct Options {
    var isMove = false
    var byDate = false
    var isDryRun = false
    /// False for the top of a space, which holds albums and no photos.
    var topIsAlbum = true
    /// Addresses to load from.
    var urls: [RemoteURL] = []
    /// The largest file of an address, in bytes.
    var urlLimit: Int64 = .max
    var excluded: [ExclusionPattern] = []
    /// True if the user gave a time zone, which is that of the process then.
    var hasTimeZone = false
    /// True if Google's JSON files are read and not imported.
    var leavesOutJSON = false
    /// The names that photos and films get; nil if they keep their own.
    var template: NameTemplate?
  }

  /// What the importer asks of others.
  struct Surroundings {
    /// Returns when everything that was closed in the space is on disk.
    var synchronize: () throws(Failure) -> Void
    /// True once the user wants the import to stop.
    var isStopped: () -> Bool = { false }
    var showsProgress = false
    /// Bytes that the disk of the space has free.
    var room: Int64?
    /// Tells the user something before the work begins.
    var say: (String) -> Void = { _ in }
    /// The file system of the space, which is no source.
    var device: UInt64?
    /// The program albumfs-fetch; nil if it is missing.
    var fetch: String?
  }

  /// A file that is in the space, as far as this process knows.
  struct Arrival {
    let file: SourceWalk.File
    let copy: PlainPath
    /// The file of the album that it equals; nil if it was copied.
    var twin: AlbumContents.Twin?
    var newName: FileName?
    /// The time that a sidecar gave to the copy instead of its own.
    var modified: Int64?
    /// A file of its group that was not imported; nil if the group is complete.
    var missing: PlainPath?
    /// True if it is of the same group as the one before it.
    var follows = false
  }

  var report = ImportReport()

  let options: Options
  let surroundings: Surroundings
  var albums: ImportAlbums
  var contents: [PlainPath: AlbumContents] = [:]
  var meter: TransferMeter
  var dates = ImportDates([], Takeout([]), hasZone: false)
  /// Files that wait for the next sync.
  var waiting: [Arrival] = []
  var waitingBytes: Int64 = 0

  /// What stands for a pattern in the report of a JSON file that was left out.
  static let withoutJSON = "--without-json"

  /// A sync after so many bytes, or files, bounds what a power cut or a kill leaves to do again.
  private static let batchBytes: Int64 = 256 << 20
  private static let batchFiles = 500

  /// `album` is a path in the space.
  init(into album: String, _ options: Options, _ surroundings: Surroundings) {
    self.options = options
    self.surroundings = surroundings
    albums = ImportAlbums(top: PlainPath(album), isDryRun: options.isDryRun)
    meter = TransferMeter(
      isShown: false, files: 0, bytes: 0, isStopped: surroundings.isStopped)
    report.dryRun = options.isDryRun
    if options.isDryRun { report.plan = [] }
  }

  /// Imports all sources. What concerns one file goes into the report; a failure ends the import early, and
  /// the report holds what was done before.
  mutating func run(_ sources: [PlainPath]) throws(Failure) {
    var walk = SourceWalk(
      forbidding: surroundings.device.map { [$0] } ?? [], isImport: true,
      rules: OmissionRules(leavesOutLeftovers: true, excluded: options.excluded),
      passage: ImportFolders.passage)
    for source in sources { walk.add(source) }
    for problem in walk.problems { report.fail(PlainPath(problem.path), problem.reason) }
    report.hidden = walk.omissions.hidden
    report.leftOut = walk.omissions.named
    if options.isMove, let (zip, _) = walk.files.lazy.compactMap(\.member).first {
      throw Failure(.usage, "\(zip.text) is a zip file, and --move takes nothing out of one.")
    }
    let groups = groups(of: walk.files)
    let bytes = groups.lazy.flatMap(\.files).map(\.entry.size).saturatingSum
    warnOfSpace(bytes)
    meter = TransferMeter(
      isShown: surroundings.showsProgress,
      files: groups.lazy.map(\.items.count).reduce(options.urls.count, +),
      bytes: bytes.saturatingAdd(options.isMove ? bytes : 0),
      isStopped: surroundings.isStopped)
    defer { meter.clear() }
    do throws(Failure) {
      for group in groups {
        if meter.isStopped() { throw Failure.stopped }
        var end = meter.position
        try take(group)
        for file in group.files {
          end = end.saturatingAdd(file.entry.size)
          meter.finishFile(at: end)
        }
        if waitingBytes >= Importer.batchBytes || waiting.count >= Importer.batchFiles {
          try concludeArrivals()
        }
      }
      for url in options.urls {
        try fetch(url)
        if waitingBytes >= Importer.batchBytes { try concludeArrivals() }
      }
      try concludeArrivals()
    } catch {
      // What was copied before is imported all the same, if the space can still sync.
      if error.kind == .interrupted || error.kind == .diskFull { try? concludeArrivals() }
      report.addUnfinished(
        groups.flatMap(\.files).map(\.path) + options.urls.map { PlainPath($0.text) })
      throw error
    }
    report.complete = true
  }

  /// Does not refuse: what the space has already needs no room.
  private func warnOfSpace(_ bytes: Int64) {
    guard let room = surroundings.room, bytes > room else { return }
    surroundings.say(
      "The sources hold \(SizeArgument.readable(bytes)), and the disk of the space has "
        + "\(SizeArgument.readable(room)) free. Importing what fits.")
  }

  /// Puts together what belongs together, and reads what sidecars say.
  private mutating func groups(of files: [SourceWalk.File]) -> [TransferGroup] {
    var groups = TransferGroup.groups(of: Takeout.titled(files), joinsParts: true)
    let takeout = Takeout(groups)
    // A move would take a photo away before it is in its other albums.
    if !options.isMove { groups = takeout.completed(groups) }
    dates = ImportDates(groups, takeout, hasZone: options.hasTimeZone)
    if options.leavesOutJSON {
      let (kept, json) = Takeout.withoutJSON(groups)
      groups = kept
      report.leftOut += json.map { OmissionReport.Named($0.path, pattern: Importer.withoutJSON) }
    }
    return groups
  }

  // MARK: Albums

  func open(_ album: PlainPath) -> AlbumContents {
    if !options.isDryRun { PartialFile.clean(album.appending(.photo), process: getpid()) }
    return AlbumContents(album: album)
  }

  mutating func album(of group: TransferGroup) throws(PlainCopy.Fault) -> PlainPath {
    let folders = options.byDate ? [dates.day(of: group)] : group.items[0].file.folders
    if folders.isEmpty, !options.topIsAlbum { throw .target(.topOfSpace) }
    do throws(Errno) {
      let album = try albums.path(of: folders)
      if contents[album] == nil { try albums.makePhoto(of: album) }
      return album
    } catch {
      throw .target(error)
    }
  }

  mutating func arrived(_ arrival: Arrival, _ bytes: Int64) {
    waiting.append(arrival)
    waitingBytes = waitingBytes.saturatingAdd(bytes)
  }

  // MARK: Errors

  /// Notes what concerns one file; throws what concerns all.
  mutating func judge(
    _ fault: PlainCopy.Fault, of file: SourceWalk.File
  ) throws(Failure) {
    switch fault {
    case .source(.badMessage) where file.member != nil: fail(file.path, "it is damaged")
    case .target(.topOfSpace): fail(file.path, "the top of a space holds albums and no photos")
    case .target(let error):
      if let failure = Failure(ofSpace: error) { throw failure }
      fail(file.path, try fault.reason())
    case .stopped, .changed, .source: fail(file.path, try fault.reason())
    }
  }

  mutating func fail(_ path: PlainPath, _ reason: String) {
    report.fail(path, reason)
  }
}
