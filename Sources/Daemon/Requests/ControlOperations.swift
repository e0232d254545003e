import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumStore
import ControlProtocol
import FUSEDriver
import FoundationEssentials
import Glibc
import Posix
import Thumbnails

// The operations that commands request, on the parts of a mount.

extension Parts {
  func status(messages: [String]) -> MountStatus {
    let contents = fileSystem.counts()
    let report = fileSystem.thumbnailReport()
    let status = space.status
    let transport = transport
    let reason = isReadOnly ? readOnlyReason : status.readOnlyReason
    return MountStatus(
      store: options.store, mountPoint: options.mountPoint, pid: getpid(),
      albums: contents.albums, photos: contents.photos - report.videosAmongPhotos,
      videos: report.videos,
      otherFiles: contents.files - contents.photos - contents.thumbnails - report.videos
        + report.videosAmongPhotos,
      files: contents.files, bytes: contents.bytes,
      thumbnails: thumbnails(report, made: contents.thumbnails), deleted: deletedStatus,
      lastBarrier: status.lastBarrier?.secondsWithFraction,
      readOnly: reason != nil, readOnlyReason: reason, shortage: status.shortage,
      following: status.following.map {
        MountStatus.Following(
          lastLook: $0.lastLook.secondsWithFraction,
          problem: $0.problem?.message)
      },
      outage: status.outage.map {
        MountStatus.Outage(
          since: $0.since.secondsWithFraction, reason: "\($0.cause)")
      },
      remote: status.sending.map { MountStatus.Remote($0) },
      unreadableSegments: status.unreadableSegments, cipher: status.cipher.name,
      transport: transport.name, transportReason: transport.reason,
      recovery: status.recovery.sentences(ofReader: space.follows), messages: messages)
  }

  private var readOnlyReason: String {
    "mounted read-only" + (options.snapshot.map { ", as of the snapshot \($0)" } ?? "")
  }

  private func thumbnails(_ report: ThumbnailReport, made: Int) -> MountStatus.Thumbnails {
    // A file that is no picture rightly has no thumbnail: nothing failed.
    let failed = report.failed.filter { $0.reason != .notAPicture }
    let failures = failed.prefix(MountStatus.Thumbnails.listLimit).map { failed in
      FailedThumbnail(
        path: String(decoding: failed.path, as: UTF8.self), reason: failed.reason.explanation)
    }
    return MountStatus.Thumbnails(
      made: made, pending: report.pending, failed: failed.count, failures: failures,
      disabled: noThumbnailsNow?.words, unsupported: report.failed.count - failed.count,
      ofVideos: noPostersNow?.words)
  }

  /// Why videos get no thumbnails now; nil if they do, or if nothing gets any.
  private var noPostersNow: NoThumbnails? {
    if noThumbnailsNow != nil { return nil }
    if options.videoThumbnailer == nil { return .noVideoProgram }
    return queue?.videoUnavailability.map(NoThumbnails.noWorker)
  }

  /// Why albumfs makes no thumbnails now; nil if it does.
  private var noThumbnailsNow: NoThumbnails? {
    if isReadOnly { return .readOnly }
    return noThumbnails ?? queue?.unavailability.map(NoThumbnails.noWorker)
  }

  /// Waits until the photos that were closed before have their thumbnails, and then until everything is on
  /// disk. Passes the number of pending ones to `progress` about once a second; `progress` returns false if
  /// the client has disconnected.
  func sync(timeout: Double?, progress: (Int) -> Bool) throws(Failure) {
    let deadline = timeout.map { MonotonicTime.now + .seconds(min($0, 1e9)) }
    if isReadOnly { return }
    // Syncs the photos first, because thumbnails can be made again.
    do throws(StoreError) { try space.barrier() } catch { throw Failure(error) }
    try waitForThumbnails(until: deadline, progress)
    try barrier(until: deadline, progress)
  }

  private func waitForThumbnails(until deadline: MonotonicTime?, _ progress: (Int) -> Bool)
    throws(Failure)
  {
    // The kernel reports the end of a closed file a moment after close(2) has returned, so its photo may not
    // be queued yet. Allows half a second for that.
    for _ in 0..<10 {
      try waitForQueued(until: deadline, progress)
      if fileSystem.thumbnailReport().pending == 0 { return }
      usleep(50_000)
    }
  }

  private func waitForQueued(until deadline: MonotonicTime?, _ progress: (Int) -> Bool)
    throws(Failure)
  {
    let waiting = try ThumbnailWait(fileSystem, until: deadline)
    while !waiting.isOver(within: .seconds(1)) {
      let pending = fileSystem.thumbnailReport().pending
      if let noThumbnailsNow {
        throw Failure(
          .other,
          "Everything is \(restingPlace), but thumbnails are missing (\(pending)): \(noThumbnailsNow.words)."
        )
      }
      if !progress(pending) { return }
    }
    if waiting.timedOut {
      let pending = fileSystem.thumbnailReport().pending
      throw Failure(.timedOut, "Timed out: thumbnails not yet made: \(pending).")
    }
  }

  /// The next request of a thread is for this file.
  func means(_ name: [UInt8], _ inode: UInt64, by thread: Int32) throws(Failure) -> ControlSummary {
    guard let name = try? FileName(name) else {
      throw Failure(.usage, "This is no name of a file.")
    }
    fileSystem.meant.add(name, is: InodeNumber(inode), by: thread)
    return ControlSummary()
  }

  func retryThumbnails(under path: String, _ which: ThumbnailSelection) throws(Failure)
    -> ControlSummary
  {
    do throws(FSError) {
      let top = try fileSystem.resolvePhotos(path: Array(path.utf8))
      let count = try fileSystem.retryThumbnails(under: top, which.choice)
      var notes = noThumbnailsNow.map { ["No thumbnails are being made: \($0.words)."] } ?? []
      for album in fileSystem.albumsWithoutThumb(under: top) {
        let name = String(decoding: album, as: UTF8.self)
        notes.append(
          "\(name)/Thumb was removed, so the thumbnails of \(name) show nowhere. "
            + "To bring it back: mkdir \(ShellWord.quoted("\(name)/Thumb"))")
      }
      return ControlSummary(count: count, notes: notes)
    } catch {
      throw Failure(error, path)
    }
  }

  /// nil: all albums.
  func tidy(_ album: String?) throws(Failure) -> ControlSummary {
    do throws(FSError) {
      let report = try fileSystem.tidy(try find(album: album))
      if !report.moves.isEmpty { lastTidy.withLock { $0 = report.moves } }
      return ControlSummary(count: report.moves.count, notes: report.clashNotes)
    } catch {
      throw Failure(error, album ?? "")
    }
  }

  /// The first notes name the photos that would move, as many as the count says.
  func tidyPreview(_ album: String?) throws(Failure) -> ControlSummary {
    do throws(FSError) {
      let report = try fileSystem.tidy(try find(album: album), preview: true)
      let photos = report.moves.map { String(decoding: $0.path, as: UTF8.self) }
      return ControlSummary(count: photos.count, notes: photos + report.clashNotes)
    } catch {
      throw Failure(error, album ?? "")
    }
  }

  /// The first notes of a preview name the photos that would move, as many as the count says.
  func tidyByDate(_ album: String, preview: Bool) throws(Failure) -> ControlSummary {
    do throws(FSError) {
      let report = try fileSystem.tidyByDate(
        try fileSystem.resolve(path: Array(album.utf8)), preview: preview)
      if !preview, !report.moves.isEmpty { lastTidy.withLock { $0 = report.moves } }
      let text = { (path: [UInt8]) in String(decoding: path, as: UTF8.self) }
      var notes = preview ? report.moves.map { "\(text($0.path)) -> \(text($0.newPath))" } : []
      notes += report.clashes.map {
        "\(text($0)) stays: something has its name in the album of its day already."
      }
      notes += report.undated.map {
        "\(text($0)) stays: its date is known when its thumbnail is made (see albumfs sync)."
      }
      return ControlSummary(count: report.moves.count, notes: notes)
    } catch {
      throw Failure(error, album)
    }
  }

  func undoTidy() throws(Failure) -> ControlSummary {
    let moves = lastTidy.withLock { $0 }
    if moves.isEmpty {
      throw Failure(.other, "tidy has moved nothing since this space was mounted.")
    }
    do throws(FSError) {
      let report = try fileSystem.undo(moves)
      lastTidy.withLock { $0 = [] }
      let others = moves.count - report.moves.count - report.clashes.count
      let note = others == 0 ? [] : ["Not where tidy put them any more: \(others)."]
      return ControlSummary(
        count: report.moves.count,
        notes: note
          + report.clashes.map {
            "\(String(decoding: $0, as: UTF8.self)) is there already: the one that tidy moved stays where it is."
          })
    } catch {
      throw Failure(error, "")
    }
  }

  private func find(album: String?) throws(FSError) -> InodeNumber? {
    guard let album else { return nil }
    return try fileSystem.resolve(path: Array(album.utf8))
  }

  /// Passes the bytes moved and the total to `progress`, which returns false to stop.
  func compact(_ progress: (Int64, Int64) -> Bool) throws(Failure) -> CompactionSummary {
    if isReadOnly { throw Failure(.other, "The space was mounted read-only.") }
    do throws(StoreError) {
      let report = try space.compact { progress($0.moved, $0.total) }
      return CompactionSummary(
        freed: report.freed, waiting: report.waiting, graceSeconds: options.graceSeconds,
        taken: report.taken, living: report.living,
        unreadableSegments: report.unreadableSegments)
    } catch {
      throw Failure(error)
    }
  }

  var description: MountDescription {
    let edge = space.read { $0.properties[.thumbnailEdge] } ?? 512
    return MountDescription(store: options.store, thumbnailEdge: Int(clamping: edge))
  }

  /// A photo at most `edge` pixels long, in Base64.
  func preview(_ path: [UInt8], edge: Int) throws(Failure) -> String {
    guard let previews else {
      throw Failure(.unsupported, "There is no decoder: albumfs-thumbnailer is not installed.")
    }
    return Data(try previews.make(path, edge: edge)).base64EncodedString()
  }

  /// Returns when everything that was closed before is on disk, or in the object storage where the store
  /// lies. A read-only mount has nothing to write.
  func barrier() throws(Failure) {
    if isReadOnly { return }
    do throws(StoreError) { try space.barrierThere() } catch { throw Failure(error) }
  }
}

extension TransportInUse {
  fileprivate var name: String {
    switch self {
    case .ring: LaunchOptions.Transport.uring.rawValue
    case .device: LaunchOptions.Transport.device.rawValue
    }
  }

  fileprivate var reason: String? {
    if case .device(let fault?) = self { return fault.phrase }
    return nil
  }
}

/// Waits for the thumbnails of everything that was closed before. It has a thread of its own, so that the
/// caller can report progress meanwhile.
private final class ThumbnailWait: Sendable {
  private enum State { case waiting, made, timedOut }
  private let state = Monitor(State.waiting, rank: .leaf)

  init(_ fileSystem: FileSystem, until deadline: MonotonicTime?) throws(Failure) {
    do throws(Errno) {
      try PosixThread(name: "sync") { [state] in
        let isMade = fileSystem.waitForThumbnails(until: deadline)
        state.withLock { $0 = isMade ? .made : .timedOut }
        state.notifyAll()
      }.detach()
    } catch {
      throw Failure(.other, "No thread can be started: \(error).")
    }
  }

  func isOver(within patience: Duration) -> Bool {
    let deadline = MonotonicTime.now + patience
    return state.waiting(until: deadline) { $0 == .waiting ? nil : true } ?? false
  }

  var timedOut: Bool { state.withLock { $0 == .timedOut } }
}

extension TidyReport {
  fileprivate var clashNotes: [String] {
    clashes.map { "\(String(decoding: $0, as: UTF8.self)) stays: Photo has that name already." }
  }
}

extension ThumbnailSelection {
  fileprivate var choice: ThumbnailChoice {
    switch self {
    case .failed: .failed
    case .missing: .missing
    case .all: .all
    }
  }
}

extension Failure {
  init(_ error: FSError, _ path: String) {
    switch error.code {
    case .notFound, .notDirectory:
      self.init(.usage, "There is no \(path) in the mounted space.")
    case .invalid: self.init(.usage, "\(path.isEmpty ? "The mount point" : path) is no album.")
    case .noSpace, .quotaExceeded: self.init(.diskFull, "The disk is full.")
    case .readOnly: self.init(.other, "The space is read-only.")
    default: self.init(.other, "That failed: \(error).")
    }
  }
}

extension Timestamp {
  /// As messages have it: seconds since 1970, exact to a microsecond.
  var secondsWithFraction: Double { Double(seconds) + Double(subsecond) / 1e9 }
}
