import AlbumModel
import ControlProtocol
import Fetching
import Glibc
import PictureMetadata
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
  private struct Arrival {
    let file: SourceWalk.File
    let copy: PlainPath
    /// The file of the album that it equals; nil if it was copied.
    var twin: AlbumContents.Twin?
    var newName: FileName?
  }

  private(set) var report = ImportReport()

  private let options: Options
  private let surroundings: Surroundings
  private var albums: ImportAlbums
  private var contents: [PlainPath: AlbumContents] = [:]
  private var meter: TransferMeter
  /// Files that wait for the next sync.
  private var waiting: [Arrival] = []
  private var waitingBytes: Int64 = 0

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
      passage: ImportFolders.passage)
    for source in sources { walk.add(source) }
    for problem in walk.problems { report.fail(PlainPath(problem.path), problem.reason) }
    report.hidden = walk.hidden
    if options.isMove, let (zip, _) = walk.files.lazy.compactMap(\.member).first {
      throw Failure(.usage, "\(zip.text) is a zip file, and --move takes nothing out of one.")
    }
    warnOfSpace(walk.bytes)
    meter = TransferMeter(
      isShown: surroundings.showsProgress, files: walk.files.count + options.urls.count,
      bytes: walk.bytes.saturatingAdd(options.isMove ? walk.bytes : 0),
      isStopped: surroundings.isStopped)
    defer { meter.clear() }
    do throws(Failure) {
      for file in walk.files {
        let start = meter.position
        try take(file)
        meter.finishFile(at: start.saturatingAdd(file.entry.size))
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
      report.addUnfinished(walk.files.map(\.path) + options.urls.map { PlainPath($0.text) })
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

  // MARK: Copying

  private mutating func take(_ file: SourceWalk.File) throws(Failure) {
    do throws(PlainCopy.Fault) {
      let album = try album(of: file)
      var known = contents[album] ?? open(album)
      defer { contents[album] = known }
      if let (zip, member) = file.member, !options.isDryRun {
        try unpack(file, member, from: zip, &known)
        return
      }
      let isStopped = surroundings.isStopped
      let twin: AlbumContents.Twin?
      if let (_, member) = file.member {
        twin = known.likelyTwin(of: member, name: file.name)
      } else {
        twin = try known.twin(of: file.path, name: file.name, size: file.entry.size) { _ in
          !isStopped()
        }
      }
      if let twin {
        arrived(Arrival(file: file, copy: twin.place, twin: twin), 0)
      } else {
        try copy(file, &known)
      }
    } catch {
      try judge(error, of: file)
    }
  }

  private func open(_ album: PlainPath) -> AlbumContents {
    if !options.isDryRun { PartialFile.clean(album.appending(.photo), process: getpid()) }
    return AlbumContents(album: album)
  }

  private mutating func album(of file: SourceWalk.File) throws(PlainCopy.Fault) -> PlainPath {
    let folders = options.byDate ? [day(of: file)] : file.folders
    if folders.isEmpty, !options.topIsAlbum { throw .target(.topOfSpace) }
    do throws(Errno) {
      let album = try albums.path(of: folders)
      if contents[album] == nil { try albums.makePhoto(of: album) }
      return album
    } catch {
      throw .target(error)
    }
  }

  /// The day of capture, as the camera's clock showed it; else that of the file's modification time.
  private func day(of file: SourceWalk.File) -> FileName {
    if let (zip, member) = file.member, let date = member.captureDate(in: zip) {
      return FileName(known: Array(date.day.utf8))
    }
    if let reader = try? PlainReader(file.path),
      let date = CaptureDate.find(size: reader.size, { try? reader.bytes($0, at: $1) })
    {
      return FileName(known: Array(date.day.utf8))
    }
    let day = SystemClock.localTime(seconds: file.entry.modified.seconds).prefix { $0 != " " }
    return FileName(known: Array(day.utf8))
  }

  private mutating func copy(
    _ file: SourceWalk.File, _ known: inout AlbumContents
  ) throws(PlainCopy.Fault) {
    if options.isDryRun {
      let name = freeName(file.name, &known)
      let copy = known.photo.appending(name)
      known.add(file.path, at: copy, size: file.entry.size)
      report.plan?.append(PlannedCopy(file.path, copy))
      arrived(Arrival(file: file, copy: copy, newName: name == file.name ? nil : name), 0)
      return
    }
    let partial = PartialFile.path(in: known.photo, process: getpid())
    let entry = try PlainCopy.make(partial, from: file.path) { meter.advance($0) }
    let name: FileName
    do throws(Errno) { name = try publish(partial, as: file.name, &known) } catch {
      try? PathCalls.removeFile(partial)
      throw .target(error)
    }
    let copy = known.photo.appending(name)
    known.add(copy, at: copy, size: entry.size)
    let copied = SourceWalk.File(
      path: file.path, name: file.name, folders: file.folders, entry: entry)
    let newName = name == file.name ? nil : name
    arrived(Arrival(file: copied, copy: copy, newName: newName), entry.size)
  }

  /// Unpacks a file of a zip file, and only then looks whether the album has its content.
  private mutating func unpack(
    _ file: SourceWalk.File, _ member: ZipDirectory.Member, from zip: PlainPath,
    _ known: inout AlbumContents
  ) throws(PlainCopy.Fault) {
    let partial = PartialFile.path(in: known.photo, process: getpid())
    try member.unpack(from: zip, to: partial) { meter.advance($0) }
    try settle(partial, file, size: member.size, &known)
  }

  /// Gives a file that is in the space its name, unless the album has its content already.
  private mutating func settle(
    _ partial: PlainPath, _ file: SourceWalk.File, size: Int64, _ known: inout AlbumContents
  ) throws(PlainCopy.Fault) {
    do throws(PlainCopy.Fault) {
      let isStopped = surroundings.isStopped
      let twin = try known.twin(of: partial, name: file.name, size: size) { _ in !isStopped() }
      if let twin {
        try? PathCalls.removeFile(partial)
        return arrived(Arrival(file: file, copy: twin.place, twin: twin), 0)
      }
      let name: FileName
      do throws(Errno) { name = try publish(partial, as: file.name, &known) } catch {
        throw .target(error)
      }
      let copy = known.photo.appending(name)
      known.add(copy, at: copy, size: size)
      arrived(Arrival(file: file, copy: copy, newName: name == file.name ? nil : name), size)
    } catch {
      try? PathCalls.removeFile(partial)
      throw error
    }
  }

  // MARK: Loading

  /// Loads a picture from the web, and then treats it like the file of a zip file.
  private mutating func fetch(_ url: RemoteURL) throws(Failure) {
    let source = PlainPath(url.text)
    do throws(PlainCopy.Fault) {
      if !options.byDate, !options.topIsAlbum { throw .target(.topOfSpace) }
      let place = try loadingPlace()
      let folder: Folder
      do throws(Errno) { folder = try Folder(place.text) } catch { throw .target(error) }
      RemoteDownload.removeStale(in: folder)
      guard let (loaded, partial) = try load(url, folder) else { return }
      let path = place.appending(partial)
      do throws(PlainCopy.Fault) {
        let entry: PlainEntry
        do throws(Errno) { entry = try PlainEntry(path) } catch { throw .target(error) }
        var file = SourceWalk.File(path: path, name: loaded.name, folders: [], entry: entry)
        let album = try album(of: file)
        file = SourceWalk.File(path: source, name: loaded.name, folders: [], entry: entry)
        var known = contents[album] ?? open(album)
        defer { contents[album] = known }
        try settle(path, file, size: loaded.size, &known)
      } catch {
        try? PathCalls.removeFile(path)
        throw error
      }
    } catch {
      if case .target(.topOfSpace) = error {
        return fail(source, "the top of a space holds albums and no photos")
      }
      if case .target(let error) = error, let failure = Failure(ofSpace: error) { throw failure }
      fail(source, try error.reason())
    }
    meter.finishFile(at: meter.position)
  }

  /// The folder for what is being loaded. The day of a picture shows when it is there.
  private mutating func loadingPlace() throws(PlainCopy.Fault) -> PlainPath {
    do throws(Errno) {
      let top = try albums.path(of: [])
      if !options.topIsAlbum { return top }
      if contents[top] == nil { try albums.makePhoto(of: top) }
      return top.appending(.photo)
    } catch {
      throw .target(error)
    }
  }

  /// nil if nothing came; the report says why.
  private mutating func load(
    _ url: RemoteURL, _ folder: borrowing Folder
  ) throws(PlainCopy.Fault) -> (RemoteDownload.Loaded, FileName)? {
    let source = PlainPath(url.text)
    guard let program = surroundings.fetch else {
      fail(source, "the program albumfs-fetch is missing: install it beside albumfs")
      return nil
    }
    let download = RemoteDownload(program: program, isPublicOnly: false, limit: options.urlLimit)
    var expected: Int64?
    var seen: Int64 = 0
    do throws(RemoteDownload.Fault) {
      return try download.run(url, in: folder) { bytes, total in
        if expected == nil, let total {
          meter.expect(total)
          expected = total
        }
        // A file that begins anew takes its bytes back.
        let more = bytes - seen
        seen = bytes
        return meter.advance(more)
      }
    } catch {
      switch error {
      case .stopped: throw .stopped
      case .target(let error): throw .target(error)
      default:
        fail(source, error.reason)
        return nil
      }
    }
  }

  /// Gives a complete copy its name, or the next one that is free.
  private func publish(
    _ partial: PlainPath, as name: FileName, _ known: inout AlbumContents
  ) throws(Errno) -> FileName {
    while true {
      let free = freeName(name, &known)
      do throws(Errno) {
        try PlainFiles.rename(partial, to: known.photo.appending(free))
        return free
      } catch {
        // Another program was faster. The name counts as taken by now.
        if error != .exists { throw error }
      }
    }
  }

  private func freeName(_ name: FileName, _ known: inout AlbumContents) -> FileName {
    var number = 1
    while known.isTaken(NumberedName.of(name, number)) { number += 1 }
    let free = NumberedName.of(name, number)
    known.take(free)
    return free
  }

  private mutating func arrived(_ arrival: Arrival, _ bytes: Int64) {
    waiting.append(arrival)
    waitingBytes = waitingBytes.saturatingAdd(bytes)
  }

  // MARK: Errors

  /// Notes what concerns one file; throws what concerns all.
  private mutating func judge(
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

  private mutating func fail(_ path: PlainPath, _ reason: String) {
    report.fail(path, reason)
  }

  // MARK: After the copying

  /// Syncs the space, counts what is on disk, and removes the originals of a move.
  private mutating func concludeArrivals() throws(Failure) {
    let arrivals = waiting
    (waiting, waitingBytes) = ([], 0)
    if arrivals.isEmpty { return }
    if !options.isDryRun { try surroundings.synchronize() }
    let first = report.files.count
    for arrival in arrivals { count(arrival) }
    if !options.isMove || options.isDryRun { return }
    for (index, arrival) in zip(first..., arrivals) {
      let start = meter.position
      // A zip file stays whole.
      if arrival.file.member == nil { try remove(arrival, index) }
      _ = meter.advance(start + arrival.file.entry.size - meter.position)
    }
  }

  private mutating func count(_ arrival: Arrival) {
    let original = arrival.file.path
    if let twin = arrival.twin {
      report.duplicates += 1
      if !twin.hasName, let name = twin.place.name {
        report.otherNames.append(RenamedFile(original, name))
      }
    } else {
      report.imported += 1
      report.bytes = report.bytes.saturatingAdd(arrival.file.entry.size)
    }
    if let name = arrival.newName { report.renamed.append(RenamedFile(original, name)) }
    let state = arrival.twin == nil ? ImportedFile.State.imported : .present
    report.files.append(ImportedFile(original, state, copy: arrival.copy))
  }

  /// `index` is that of the file in the report.
  private mutating func remove(_ arrival: Arrival, _ index: Int) throws(Failure) {
    // Somebody else may have removed it.
    guard let before = try? PlainEntry(arrival.file.path) else { return }
    report.files[index].removed = false
    do throws(PlainCopy.Fault) {
      if let reason = try obstacle(to: arrival, before) {
        return report.keepOriginal(index, arrival.file.path, reason)
      }
      report.removed += 1
      report.files[index].removed = true
    } catch {
      switch error {
      case .target(let errno):
        if let failure = Failure(ofSpace: errno) { throw failure }
        fallthrough
      default: report.keepOriginal(index, arrival.file.path, try error.reason())
      }
    }
  }

  /// Removes an original; returns why it stays, or nil.
  private mutating func obstacle(
    to arrival: Arrival, _ before: PlainEntry
  ) throws(PlainCopy.Fault) -> String? {
    let original = arrival.file.path
    let isSame = before.hasContent(of: arrival.file.entry)
    if !isSame { return "it was changed meanwhile, so it stays" }
    guard let copy = try? PlainEntry(arrival.copy), copy.kind == .file, copy.file != before.file
    else { return "its copy is gone, so it stays" }
    if let twin = arrival.twin, let reason = Importer.loss(of: original, to: twin) { return reason }
    if try !PlainCopy.isEqual(original, arrival.copy, watch: { meter.advance($0) }) {
      return "its copy differs, so it stays"
    }
    // A writer may have been at work while the two were compared.
    guard let after = try? PlainEntry(original), after == before else {
      return "it was changed meanwhile, so it stays"
    }
    do throws(Errno) { try PathCalls.removeFile(original) } catch {
      return "it is in the album, but cannot be removed: \(error)"
    }
    return nil
  }

  /// What neither side would have any more if an original went whose content the album had before; nil if
  /// nothing.
  private static func loss(of original: PlainPath, to twin: AlbumContents.Twin) -> String? {
    if !twin.hasName {
      return "the album has its content as \(twin.place.name?.text ?? twin.place.text), so it stays"
    }
    if PlainCopy.hasDetails(of: original, twin.path) { return nil }
    return "the album has it with another time, other permissions or other attributes, so it stays"
  }
}
