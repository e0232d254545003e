import AlbumFileSystem
import AlbumModel
import AlbumStore
import ControlProtocol
import FoundationEssentials

// The requests about deleted files, on the parts of a mount.

extension Parts {
  func deletedFiles(from place: UInt32) -> DeletedFilePage {
    let kept = space.deletedPolicy.kept
    let (files, next) = fileSystem.deletedFiles(from: place)
    return DeletedFilePage(files: files.map { DeletedFileEntry($0, kept: kept) }, next: next)
  }

  /// All deleted files of a selection, the oldest first.
  private func selected(_ selection: DeletedSelection) -> [DeletedFile] {
    let kept = space.deletedPolicy.kept
    var found: [DeletedFile] = []
    var place: UInt32? = 0
    while let start = place {
      let page = fileSystem.deletedFiles(from: start)
      found += page.files.filter { selection.includes(DeletedFileEntry($0, kept: kept)) }
      place = page.next
    }
    return found.sorted { ($0.removed, $0.inode) < ($1.removed, $1.inode) }
  }

  func restoreDeleted(_ selection: DeletedSelection) throws(Failure) -> ControlSummary {
    let files = selected(selection)
    try requireFound(selection, among: files)
    var summary = ControlSummary()
    for file in files {
      do throws(FSError) {
        let restored = try fileSystem.restoreDeleted(file)
        summary.count += 1
        if restored.isRenamed {
          summary.notes.append("\(text(file.path)) is back as \(text(restored.path)).")
        }
      } catch {
        // Another caller may have been faster.
        if error.code != .notFound { throw Failure(error, text(file.path)) }
      }
    }
    try barrier()
    return summary
  }

  private func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  func purgeDeleted(_ selection: DeletedSelection, consent: String) throws(Failure)
    -> ControlSummary
  {
    try requireConsent(consent)
    let files = selected(selection)
    try requireFound(selection, among: files)
    do throws(StoreError) {
      let count = try space.purgeDeleted(files.map(\.inode))
      try space.barrier()
      return ControlSummary(count: count)
    } catch {
      throw Failure(error)
    }
  }

  private func requireFound(_ selection: DeletedSelection, among files: [DeletedFile])
    throws(Failure)
  {
    let missing = Set(selection.numbers ?? []).subtracting(files.map(\.inode.rawValue)).min()
    if let missing { throw Failure(.usage, "There is no deleted file with the number \(missing).") }
  }

  func requireConsent(_ consent: String?) throws(Failure) {
    guard let consent else {
      throw Failure(.noPassword, "A password of the space is needed for that.")
    }
    if !space.isConsent(consent) {
      throw Failure(.wrongPassword, "This password unlocks another space of the store.")
    }
  }

  /// The thumbnail of a deleted file, in Base64.
  func deletedThumbnail(_ number: UInt64) throws(Failure) -> String {
    do throws(FSError) {
      return Data(try fileSystem.thumbnail(ofDeleted: InodeNumber(number))).base64EncodedString()
    } catch {
      if error.code != .notFound { throw Failure(error, "") }
      throw Failure(.usage, "The deleted file \(number) has no thumbnail.")
    }
  }

  // MARK: Settings

  var deletedSettings: DeletedFileSettings {
    let policy = space.deletedPolicy
    return DeletedFileSettings(
      keeps: policy.isOn, keptDays: policy.keptDays, guaranteedDays: policy.guaranteedDays)
  }

  func setDeletedSettings(_ settings: DeletedFileSettings, consent: String?) throws(Failure)
    -> DeletedFileSettings
  {
    if settings.keepsLess(than: deletedSettings) { try requireConsent(consent) }
    guard (0...DeletedPolicy.longest).contains(settings.keptDays),
      (0...settings.keptDays).contains(settings.guaranteedDays)
    else { throw Failure(.usage, "Files cannot be guaranteed for longer than they are kept.") }
    var policy = DeletedPolicy()
    policy.isOn = settings.keeps
    policy.keptDays = settings.keptDays
    policy.guaranteedDays = settings.guaranteedDays
    do throws(StoreError) {
      try space.requireWritable()
      space.deletedPolicy = policy
      try space.barrier()
    } catch {
      throw Failure(error)
    }
    return deletedSettings
  }

  var deletedStatus: MountStatus.Deleted {
    let usage = space.deletedUsage
    return MountStatus.Deleted(
      files: usage.files, bytes: usage.bytes, bytesGivenUp: usage.bytesGivenUp,
      oldestSeconds: usage.oldestAge?.components.seconds,
      burst: usage.burst.map {
        MountStatus.Deleted.Burst(files: $0.files, first: $0.first, last: $0.last)
      },
      settings: deletedSettings, snapshots: space.points.count,
      snapshotBytes: usage.pointBytes)
  }
}

extension DeletedFileEntry {
  fileprivate init(_ file: DeletedFile, kept: Duration) {
    self.init(
      number: file.inode.rawValue, path: String(decoding: file.path, as: UTF8.self),
      size: file.size, deleted: file.removed.secondsWithFraction,
      secondsLeft: max(0, (kept - file.age).components.seconds), cause: file.cause.rawValue)
  }
}
